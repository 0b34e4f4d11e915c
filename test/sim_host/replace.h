// The names under which the product's files find the simulated world instead of the machine.
#ifndef SIM_HOST_REPLACE_H
#define SIM_HOST_REPLACE_H

#include <stdio.h>

#include "store/journal.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/net/channel.h"
#include "sys/net/net.h"
#include "sys/process/process.h"
#include "sys/secure/secret.h"
#include "sys/secure/tls.h"
#include "sys/thread/spin.h"
#include "sys/thread/thread.h"
#include "sys/time/clock.h"

uint64_t world_clock_now_ns(void);
void world_clock_sleep_ms(uint32_t milliseconds);
void world_secret_random(void *bytes, size_t size);

void world_mutex_init(struct mutex *mutex);
void world_mutex_fini(struct mutex *mutex);
void world_mutex_lock(struct mutex *mutex);
void world_mutex_unlock(struct mutex *mutex);
void world_condition_init(struct condition *condition);
void world_condition_fini(struct condition *condition);
void world_condition_wait_until(struct condition *condition, struct mutex *mutex,
                                uint64_t deadline_ns);
void world_condition_broadcast(struct condition *condition);

weft_err world_thread_start(struct thread *thread, void (*body)(void *), void *argument,
                            size_t stack_bytes);
void world_thread_join(struct thread *thread);

weft_err world_channel_open(const struct net_address *address, const struct secret *token,
                            uint32_t timeout_ms, struct channel **channel);
void world_channel_close(struct channel *channel);
weft_err world_channel_send(struct channel *channel, weft_bytes bytes, size_t *sent);
size_t world_channel_unsent_bytes(const struct channel *channel);
weft_err world_channel_receive(struct channel *channel, struct buf *in, size_t *received);
weft_err world_channel_wait(struct channel *channel, bool wants_to_send, int wake_fd,
                            uint64_t deadline_ns, bool *timed_out);

struct loop_stream *world_stream_new(struct loop *loop, int fd,
                                     const struct loop_stream_calls *calls, void *owner);
struct buf *world_stream_out(struct loop_stream *stream);
void world_stream_flush(struct loop_stream *stream);
size_t world_stream_unsent(const struct loop_stream *stream);
void world_stream_pause(struct loop_stream *stream, bool is_paused);
void world_stream_free(struct loop_stream *stream);
struct loop_listener *world_listener_new(struct loop *loop, int fd, loop_accept_fn *accepted,
                                         void *owner);
struct loop_timer *world_timer_new(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
                                   loop_fn *elapsed, void *owner);
void world_wake(void);
void world_set_turn(struct loop *loop, struct loop_turn turn, void *owner);

weft_err world_journal_open(struct journal **journal, const char *directory, const char *kind,
                            const struct journal_options *options, journal_visit_fn *visit,
                            void *owner, struct journal_found *found);
weft_err world_journal_close(struct journal *journal);
weft_err world_journal_append(struct journal *journal, uint32_t type, weft_bytes payload);
weft_err world_journal_sync(struct journal *journal);
bool world_journal_has_failed(const struct journal *journal);
uint64_t world_journal_size(const struct journal *journal);
weft_err world_rewrite_write(struct journal *journal, journal_snapshot_fn *snapshot, void *owner);
weft_err world_rewrite_finish(struct journal *journal);
void world_rewrite_cancel(struct journal *journal);
weft_err world_process_fork(int (*body)(void *), void *owner, struct process *process);
void world_process_wait(struct process *process, struct process_exit *exit);

bool world_process_is_gone(pid_t pid);

#define clock_now_ns world_clock_now_ns
#define clock_sleep_ms world_clock_sleep_ms
#define secret_random world_secret_random
#define mutex_init world_mutex_init
#define mutex_fini world_mutex_fini
#define mutex_lock world_mutex_lock
#define mutex_unlock world_mutex_unlock
#define condition_init world_condition_init
#define condition_fini world_condition_fini
#define condition_wait_until world_condition_wait_until
#define condition_broadcast world_condition_broadcast
#define thread_start world_thread_start
#define thread_join world_thread_join
#define channel_open world_channel_open
#define channel_close world_channel_close
#define channel_send world_channel_send
#define channel_receive world_channel_receive
#define channel_wait world_channel_wait
#define channel_watch(channel, wants, deadline_ns, timed_out)                                      \
    world_channel_wait(channel, wants, -1, deadline_ns, timed_out)
#define channel_await(channel, in, received)                                                       \
    (*(received) = 0,                                                                              \
     world_channel_wait(channel, false, -1, world_clock_now_ns() + 200000000, &(bool){false}))
#define channel_unsent_bytes world_channel_unsent_bytes
#define loop_stream_new world_stream_new
#define loop_stream_out world_stream_out
#define loop_stream_flush world_stream_flush
#define loop_stream_push(stream) (world_stream_flush(stream), world_stream_unsent(stream) == 0)
#define loop_stream_unsent world_stream_unsent
#define loop_stream_pause world_stream_pause
#define loop_stream_free world_stream_free
#define loop_stream_secure(stream, tls) ((void)(tls))
#define loop_listener_new world_listener_new
#define loop_listener_free(listener) ((void)(listener))
#define loop_timer_new world_timer_new
#define loop_timer_free(timer) ((void)(timer))
#define loop_set_turn world_set_turn
#define loop_set_spin(loop, us) ((void)(us))
#define loop_wake(loop) ((void)(loop), world_wake())
#define net_is_local_stream(fd) ((fd) >= 0)
#define net_peer_pid(fd) ((pid_t)(fd))
#define net_name_peer(fd, text, size) ((void)snprintf(text, size, "connection %d", fd))
#define net_process_is_gone world_process_is_gone
#define file_close(fd) ((void)(fd))
#define journal_open world_journal_open
#define journal_close world_journal_close
#define journal_append world_journal_append
#define journal_sync world_journal_sync
#define journal_has_failed world_journal_has_failed
#define journal_size world_journal_size
#define journal_rewrite_start(journal) ((void)(journal), WEFT_OK)
#define journal_rewrite_write world_rewrite_write
#define journal_rewrite_finish world_rewrite_finish
#define journal_rewrite_cancel world_rewrite_cancel
#define process_fork world_process_fork
#define process_wait world_process_wait
#define process_kill(process) ((void)(process))
#define loop_watch_new(loop, fd, readable, owner) ((void)(readable), NULL)
#define loop_watch_free(watch) ((void)(watch))

#endif
