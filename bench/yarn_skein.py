"""yarn_skein.py JARS WORK PROGRAM: submits a program by skein for each line that it reads; prints a line when it is ready, and one per submission.

The node managers of the bench are made of loose jars, so the class path of skein's master is given to it."""
import os
import shutil
import stat
import sys

import skein

JARS, WORK, PROGRAM = sys.argv[1:]
OPENS = "--add-opens=java.base/java.lang=ALL-UNNAMED"  # what skein's libraries need of newer Java


def configure():
    conf = os.path.join(WORK, "skein-conf")
    shutil.copytree(os.environ["HADOOP_CONF_DIR"], conf)
    path = os.path.join(conf, "yarn-site.xml")
    with open(path) as file:
        text = file.read()
    own = f"<property><name>yarn.application.classpath</name><value>{conf},{JARS}/*</value></property></configuration>"
    with open(path, "w") as file:
        file.write(text.replace("</configuration>", own))
    # skein asks the command `yarn` for the class path.
    command = os.path.join(WORK, "yarn")
    with open(command, "w") as file:
        file.write(f'#!/bin/sh\necho "{conf}:$(ls {JARS}/*.jar | tr "\\n" ":")"\n')
    os.chmod(command, os.stat(command).st_mode | stat.S_IXUSR)
    os.environ["PATH"] = WORK + ":" + os.environ["PATH"]
    os.environ["HADOOP_CONF_DIR"] = conf


def specification():
    service = skein.Service(instances=1, resources=skein.Resources(memory="128 MiB", vcores=1), script=PROGRAM)
    master = skein.Master(resources=skein.Resources(memory="512 MiB", vcores=1), env={"JDK_JAVA_OPTIONS": OPENS})
    return skein.ApplicationSpec(name="bench", queue="default", master=master, services={"a": service})


def main():
    configure()
    with skein.Client(log=os.path.join(WORK, "skein-driver.log"), java_options=[OPENS]) as client:
        print("ready", flush=True)
        for _ in sys.stdin:
            client.submit(specification())
            print("submitted", flush=True)


main()
