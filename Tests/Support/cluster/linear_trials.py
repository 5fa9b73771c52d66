"""Shows that linear.py can fail: histories written by hand, answers changed in real ones, and a comparison with all orders."""
import json
import random

from linear import HOLDS, NEVER, REFUSED, UNKNOWN, VIOLATED, ChannelModel, Operation, by_force, check, core, is_linearization

MODEL = ChannelModel()


def write(path, operations):
    with open(path, "w") as file:
        for one in sorted(operations, key=lambda one: one.called):
            fields = {name: getattr(one, name) for name in Operation.__slots__}
            print(json.dumps({**fields, "returned": one.returned if one.is_known else None}), file=file)


def read(path):
    """Lists are tuples again, so that answers compare."""
    def tuples(value):
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    with open(path) as file:
        return [Operation(**{name: tuples(value) for name, value in json.loads(line).items()}) for line in file]


def detection(model, histories, pick, count):
    return {}
