// Starts and ends: the floor for the wall time of any command.
int main(void)
{
    return 0;
}
