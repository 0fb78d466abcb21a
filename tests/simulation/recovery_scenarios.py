"""Workflows that fail and go on all the same, that wait, and that carry variables."""

import re
from collections.abc import Callable

from tests.simulation.definitions import Graph, choice, machine, map_, parallel, pass_, task, varying
from unum_compiler.options import FunctionOptions
from unum_runtime.model.states import Guard, Json
from unum_runtime.protocol.runtime import JobPending
from unum_simulator import Context, Function


class Flaky(Exception):
    """Error that a retry may cure."""


class Broken(Exception):
    """Error that no retry cures."""


def wait(seconds: int, following: str | None = None) -> Json:
    """A Wait state."""
    return {"Type": "Wait", "Seconds": seconds, **({"Next": following} if following else {"End": True})}


def retry(*errors: str, attempts: int = 1, interval: int = 2) -> Json:
    """Retriers: one, for `errors`."""
    return [{"ErrorEquals": list(errors), "MaxAttempts": attempts, "IntervalSeconds": interval}]


def catch(following: str, *errors: str, **fields: Json) -> Json:
    """Return catchers: one, one for `errors`, or one for all."""
    return [{"ErrorEquals": list(errors or ("States.ALL",)), "Next": following, **fields}]


def generation(context: Context) -> int:
    """Return the number of retries of the fan-outs around an invocation."""
    return sum(map(int, re.findall(r"@\d+\.(\d+)\[", context.unum.invocation)))


def fails(when: Callable[[Json, Context], bool], error: type[Exception] = Flaky) -> Function:
    """A function that is `varying` but where it fails."""

    def function(event: Json, context: Context) -> Json:
        if when(event, context):
            raise error(f"run {context.run}")
        return varying(event, context)

    return function


at_first = fails(lambda _event, context: context.run == 0)
every_time = fails(lambda _event, _context: True)
every_other_time = fails(lambda _event, context: context.run % 2 == 0)
in_the_first_round = fails(lambda _event, context: generation(context) == 0)
broken = fails(lambda _event, _context: True, Broken)


def polled(_event: Json, context: Context) -> Json:
    """Begins a job, and has its result when it is asked for the second time."""
    asked = context.unum.job or 0
    return JobPending(asked + 1, delay_ms=5_000) if asked < 2 else {"asked": asked, "run": context.run}


def waits_for_job(following: str | None = None, **fields: Json) -> Json:
    """A Task that waits for a job."""
    return task("arn:aws:states:::ecs:runTask.sync", following, Parameters={"TaskDefinition": "t"}, **fields)


def looked_at(_event: Json, context: Context) -> Json:
    """Starts a job that is over at the third look, in its second term."""
    looks = context.unum.job or 0
    return JobPending(looks + 1, delay_ms=480_000) if looks < 3 else {"looks": looks, "run": context.run}


def fails_at_first(_event: Json, context: Context) -> Json:
    """Starts a job that is over at the first look; the first one fails."""
    if context.unum.job is None:
        return JobPending(context.unum.attempt, delay_ms=5_000)
    if context.unum.job == 0:
        raise Flaky("the job failed")
    return {"job": context.unum.job}


def two_rounds(event: Json, _context: Context) -> Json:
    """Counts rounds."""
    return {"round": event["round"] + 1}


RECOVERING: dict[str, Graph] = {
    "retry of a task": Graph(
        machine(A=task("a", "B", Retry=retry("Flaky")), B=task("b")), {"a": at_first, "b": varying}
    ),
    "two retriers": Graph(
        machine(A=task("a", "B", Retry=[*retry("Flaky"), *retry("States.ALL", interval=3)]), B=task("b")),
        {"a": lambda event, context: [at_first, broken, varying][min(context.run, 2)](event, context), "b": varying},
    ),
    "retry whose attempt is seen": Graph(
        machine(
            A=task(
                "a",
                Retry=retry("Flaky", attempts=2),
                Parameters={"count.$": "$$.State.RetryCount", "at.$": "$$.State.EnteredTime"},
            )
        ),
        {"a": lambda event, context: {**at_first(event, context), "count": event["count"]}},
    ),
    "retry of a leased task": Graph(
        machine(A=task("a", "B", Retry=retry("Flaky")), B=task("b")),
        {"a": at_first, "b": varying},
        options={"a": FunctionOptions(guard=Guard.LEASE)},
    ),
    "retry of a shared result": Graph(
        machine(M=map_(machine(B=task("b", Retry=retry("Flaky"))))),
        {"b": at_first},
        [1, 1],
        options={"b": FunctionOptions(memoize=True)},
    ),
    "retry of an unguarded task": Graph(
        machine(A=task("a", "B", Retry=retry("Flaky"), Catch=catch("B")), B=task("b")),
        {"a": every_other_time, "b": varying},
        options={"a": FunctionOptions(guard=Guard.COMMIT)},
    ),
    "retry of one branch": Graph(
        machine(P=parallel(machine(B=task("b")), Retry=retry("Flaky"))), {"b": in_the_first_round}
    ),
    "retry of one branch that waits": Graph(
        machine(
            P=parallel(machine(B=task("b", "W"), W=wait(3)), Retry=retry("Flaky"), Catch=catch("Done")), Done=pass_()
        ),
        {"b": fails(lambda _event, context: generation(context) == 0 and context.run == 0)},
    ),
    "retry exhausted then catch": Graph(
        machine(
            A=task("a", "B", Retry=retry("Flaky"), Catch=catch("C", "Flaky", ResultPath="$.error")),
            B=task("b"),
            C=task("c"),
        ),
        {"a": every_other_time, "b": varying, "c": lambda event, _context: event["error"]["Error"]},
        {},
    ),
    "catch of a task": Graph(
        machine(A=task("a", "B", Catch=catch("C")), B=task("b"), C=task("c")),
        {"a": at_first, "b": varying, "c": varying},
    ),
    "retry without a rule": Graph(
        machine(A=task("a", "B", Retry=retry("Flaky"), Catch=catch("B", "Flaky")), B=task("b")),
        {"a": broken, "b": varying},
    ),
    "retry of a parallel": Graph(
        machine(
            P=parallel(machine(B=task("b")), machine(C=task("c")), following="D", Retry=retry("Flaky")),
            D=task("d"),
        ),
        {"b": in_the_first_round, "c": varying, "d": varying},
    ),
    "retry of a map": Graph(
        machine(
            A=task("a", "M"),
            M=map_(machine(B=task("b", "C"), C=task("c")), "D", Retry=retry("Flaky")),
            D=task("d"),
        ),
        {"a": lambda _event, context: [context.run, 7], "b": varying, "c": in_the_first_round, "d": varying},
    ),
    "retry of a limited map": Graph(
        machine(
            M=map_(machine(B=task("b")), "D", MaxConcurrency=1, Retry=retry("Flaky")),
            D=task("d"),
        ),
        {"b": fails(lambda event, context: event == 2 and generation(context) == 0), "d": varying},
        [1, 2, 3],
    ),
    "retry of a parallel in a map": Graph(
        machine(
            M=map_(
                machine(
                    P=parallel(machine(B=task("b")), machine(C=task("c")), Retry=retry("Flaky"), ResultPath="$.p"),
                ),
                "D",
            ),
            D=task("d"),
        ),
        {"b": in_the_first_round, "c": varying, "d": varying},
        [{"of": 1}, {"of": 2}],
    ),
    "retry of a map around a map": Graph(
        machine(
            M=map_(machine(N=map_(machine(B=task("b")), Retry=retry("Flaky"))), "D", Retry=retry("Flaky")),
            D=task("d"),
        ),
        {"b": fails(lambda event, context: event == 2 and generation(context) < 2), "d": varying},
        [[1, 2]],
    ),
    "retry of a map in a loop": Graph(
        machine(
            A=task("a", "M"),
            M=map_(
                machine(B=task("b")), "More", ItemsPath="$.items", ResultPath="$.done", Retry=retry("Flaky", attempts=2)
            ),
            More=choice(({"Variable": "$.round", "NumericLessThan": 2}, "A"), default="Done"),
            Done={"Type": "Succeed"},
        ),
        {
            "a": lambda event, context: {"round": event["round"] + 1, "items": [context.run, event["round"]]},
            "b": in_the_first_round,
        },
        {"round": 0},
    ),
    "retry of a fan-out with another size": Graph(
        machine(
            M=map_(machine(B=task("b")), "D", Retry=retry("Flaky"), ItemsPath="$.items", ResultPath="$.m"),
            D=task("d"),
        ),
        {"b": in_the_first_round, "d": lambda event, context: {"m": event["m"], "run": context.run}},
        {"items": [1, 2]},
    ),
    "two failures": Graph(
        machine(
            P=parallel(
                machine(B=task("b")),
                machine(C=task("c")),
                following="D",
                Retry=retry("Flaky"),
                Catch=catch("Other", "Broken", ResultPath="$.error"),
            ),
            D=task("d"),
            Other=task("other"),
        ),
        {
            "b": in_the_first_round,
            "c": fails(lambda _event, context: generation(context) == 0, Broken),
            "d": varying,
            "other": lambda event, _context: event["error"]["Error"],
        },
        {"input": 1},
    ),
    "catch of a scope": Graph(
        machine(
            P=parallel(
                machine(B=task("b")),
                machine(C=task("c", "E"), E=task("e")),
                following="D",
                Catch=catch("Other", "Flaky", ResultPath="$.error"),
            ),
            D=task("d"),
            Other=task("other"),
        ),
        {**dict.fromkeys("cde", varying), "b": every_time, "other": lambda event, _context: event["error"]["Error"]},
        {"input": 1},
    ),
    "catch of a scope around a map": Graph(
        machine(
            P=parallel(
                machine(M=map_(machine(B=task("b")), MaxConcurrency=1)),
                machine(C=task("c")),
                following="D",
                Catch=catch("D"),
            ),
            D=task("d"),
        ),
        {"b": varying, "c": every_time, "d": varying},
        [1, 2, 3],
    ),
    "retry of a scope then catch": Graph(
        machine(
            M=map_(machine(B=task("b")), "D", Retry=retry("States.TaskFailed"), Catch=catch("D")),
            D=task("d"),
        ),
        {"b": fails(lambda event, _context: event == 2), "d": varying},
        [1, 2],
    ),
    "catch that goes on in a branch": Graph(
        machine(
            M=map_(machine(B=task("b", "C", Catch=catch("C")), C=task("c")), "D"),
            D=task("d"),
        ),
        {"b": fails(lambda event, context: event == 2 or context.run > 0), "c": varying, "d": varying},
        [1, 2],
    ),
    "wait before a task": Graph(machine(A=task("a", "W"), W=wait(60, "B"), B=task("b")), {"a": varying, "b": varying}),
    "wait at the end": Graph(machine(A=task("a", "W"), W=wait(60)), {"a": varying}),
    "wait first": Graph(machine(W=wait(60, "A"), A=task("a")), {"a": varying}),
    "wait before a map": Graph(
        machine(A=task("a", "W"), W=wait(60, "M"), M=map_(machine(B=task("b")), "C"), C=task("c")),
        {"a": lambda _event, context: [1, context.run], "b": varying, "c": varying},
    ),
    "wait in a branch": Graph(
        machine(
            P=parallel(machine(W=wait(60, "B"), B=task("b")), machine(C=task("c", "V"), V=wait(30)), following="D"),
            D=task("d"),
        ),
        dict.fromkeys("bcd", varying),
    ),
    "long wait": Graph(machine(A=task("a", "W"), W=wait(10 * 3600, "B"), B=task("b")), dict.fromkeys("ab", varying)),
    "two waits": Graph(
        machine(A=task("a", "V"), V=wait(10, "W"), W=wait(20, "B"), B=task("b", Retry=retry("Flaky"))),
        {"a": varying, "b": at_first},
    ),
    "wait as long as the result says": Graph(
        machine(
            A=task("a", "W"),
            W={"Type": "Wait", "SecondsPath": "$.run", "Next": "Now"},
            Now=pass_("B", Parameters={"at.$": "$$.State.EnteredTime"}),
            B=task("b"),
        ),
        {"a": varying, "b": lambda event, _context: event["at"]},
    ),
    "variables through a map": Graph(
        machine(
            A=task("a", "M", Assign={"who.$": "$.run", "kept": "k"}),
            M=map_(
                machine(
                    B=task("b", "C", Parameters={"who.$": "$who", "item.$": "$"}),
                    C=task("c", Parameters={"who.$": "$who", "kept.$": "$kept"}, Assign={"inner": 1}),
                ),
                "D",
                ItemsPath="$.items",
                ResultPath="$.done",
                Assign={"size.$": "States.ArrayLength($)"},
            ),
            D=task("d", Parameters={"who.$": "$who", "size.$": "$size", "kept.$": "$kept"}),
        ),
        {
            "a": lambda _event, context: {"run": context.run, "items": [1, 2]},
            "b": varying,
            "c": lambda event, _context: [event["who"], event["kept"]],
            "d": lambda event, _context: event,
        },
    ),
    "variables over failures": Graph(
        machine(
            A=task("a", "B", Assign={"who.$": "$.run"}),
            B=task("b", "E", Catch=catch("C", Assign={"error.$": "$.Error"})),
            C=task("c", "P", Parameters={"who.$": "$who", "error.$": "$error"}),
            P=parallel(
                machine(D=task("d", Parameters={"who.$": "$who"})),
                following="E",
                Retry=retry("Flaky"),
                Catch=catch("E", "Broken"),
            ),
            E=task("e", Parameters={"who.$": "$who", "error.$": "$error"}),
        ),
        {
            "a": varying,
            "b": every_time,
            "c": varying,
            "d": in_the_first_round,
            "e": lambda event, _context: event,
        },
    ),
    "tolerated failures": Graph(
        machine(
            A=task("a", "M"),
            M=map_(
                {**machine(B=task("b")), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}},
                "D",
                ToleratedFailureCount=1,
            ),
            D=task("d"),
        ),
        {
            "a": lambda _event, context: [1, 2, 3][: 3 - context.run],
            "b": fails(lambda event, context: event == 2 and context.run == 0),
            "d": varying,
        },
    ),
    "too many failures": Graph(
        machine(
            M=map_(
                {**machine(B=task("b")), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}},
                "D",
                ToleratedFailurePercentage=40,
                MaxConcurrency=2,
                Catch=catch("D", "States.ExceedToleratedFailureThreshold"),
            ),
            D=task("d"),
        ),
        {"b": fails(lambda event, context: event + context.run >= 2), "d": varying},
        [1, 2, 3],
    ),
    "timeout during a wait": Graph(
        {**machine(A=task("a", "W"), W=wait(60, "B"), B=task("b")), "TimeoutSeconds": 10},
        {"a": varying, "b": varying},
    ),
    "timeout during a retry": Graph(
        {
            **machine(
                P=parallel(
                    machine(B=task("b", Retry=retry("Flaky", interval=100))),
                    machine(C=task("c")),
                    following="D",
                    Retry=retry("States.ALL"),
                ),
                D=task("d"),
            ),
            "TimeoutSeconds": 10,
        },
        {"b": every_time, "c": varying, "d": varying},
    ),
    "timeout between retries of a scope": Graph(
        {
            **machine(
                P=parallel(machine(B=task("b")), machine(W=wait(4)), Retry=retry("Flaky", attempts=9, interval=4)),
            ),
            "TimeoutSeconds": 10,
        },
        {"b": every_time},
    ),
    "polled task": Graph(
        machine(A=task("a", "B"), B=task("b")),
        {"a": polled, "b": varying},
    ),
    "job": Graph(machine(J=waits_for_job("B"), B=task("b")), {"J": looked_at, "b": varying}),
    "retry of a job": Graph(
        machine(A=task("a", "J"), J=waits_for_job("B", Retry=retry("Flaky")), B=task("b")),
        {"a": varying, "J": fails_at_first, "b": varying},
    ),
    "jobs of branches": Graph(
        machine(M=map_(machine(J=waits_for_job()), "K"), K=waits_for_job("B"), B=task("b")),
        {"J": looked_at, "K": fails_at_first, "b": varying},
        [1, 2],
    ),
}
"""Every shape by name."""
