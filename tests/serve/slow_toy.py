"""The toy skill, slowed down where a completion asks for it, and with checks that hold a mistake."""

import dataclasses
import re
import time

import toy


def read(completion):
    if asked := re.search(r"sleep ([0-9.]+)", completion):
        time.sleep(float(asked[1]))
    return toy.read(completion)


def judge(task, artefact):
    if "broken" in artefact:
        raise KeyError("a mistake in the checks")
    return toy.judge(task, artefact)


SKILL = dataclasses.replace(toy.SKILL, read=read, judge=judge)
