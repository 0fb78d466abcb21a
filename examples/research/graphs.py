"""Definitions of the research applications, as graphs in Python; a Task has the name of its function."""

from unum_compiler import graph as g
from unum_compiler.graph import Piece

STEPS = 30
"""Tasks of `function_chain` after its first one."""


def hello_world() -> Piece:
    """Begin a greeting in one function, complete it in the next."""
    return g.task("begin") >> g.task("complete")


def hello_bye() -> Piece:
    """Choose the function by the input."""
    word = g.choose(
        (g.out == "hello", g.task("welcome")), (g.out == "bye", g.task("part")), default=g.fail("UnknownWord")
    )
    return word >> g.task("address")


def relay() -> Piece:
    """Hand the input over unchanged, as a measure of what a step costs."""
    return g.task("receive") >> g.task("forward")


def chain() -> Piece:
    """Run one function again and again, as often as the input says."""
    return g.task("hop") >> g.choose((g.out["hops"] < g.out["length"], g.goto("hop")))


def fan_out() -> Piece:
    """Run one function for each item, then summarize in the order of the items."""
    return g.map(g.task("digest"), items=g.out["texts"]) >> g.task("summarize")


def parallel_pipeline() -> Piece:
    """Run a pipeline of three functions for each item, and join more than Step Functions lets a state have."""
    pipeline = g.task("produce") >> g.task("scramble") >> g.task("seal")
    return g.map(pipeline, items=g.out["seeds"]) >> g.task("collect")


def image_process() -> Piece:
    """Make a thumbnail and find faces side by side, then publish both."""
    return g.parallel(g.task("thumbnail"), g.task("find_faces")) >> g.task("publish")


def iot_pipeline() -> Piece:
    """Aggregate the meter readings of a building, then decide about its air conditioning."""
    return g.task("aggregate") >> g.task("decide")


def text_processing() -> Piece:
    """Find mentions and shorten links side by side, then compose and publish a post."""
    links = g.task("find_links") >> g.task("shorten")
    return g.parallel(g.task("find_mentions"), links) >> g.task("compose") >> g.task("publish")


def word_count() -> Piece:
    """Count words text by text, sort the counts into parts, and add each part up."""
    counts = g.map(g.task("count"), items=g.out["texts"], name="each text")
    return counts >> g.task("partition") >> g.map(g.task("add"), items=g.out, name="each part") >> g.task("merge")


def excamera() -> Piece:
    """Encode chunks side by side; each chunk is rebased as soon as the chunk before it is.

    Chunk i is re-encoded once chunk i-1 is decoded, and rebased once chunk i-1 is rebased: a wavefront.
    """
    chunk = g.task("encode") >> g.task("decode")
    wave = g.task("reencode").after_previous("decode") >> g.task("rebase").after_previous("rebase")
    return g.map(chunk >> wave, items=g.out["chunks"]) >> g.task("concatenate")


def excamera_barrier() -> Piece:
    """Encode the same video with a barrier after each phase, as Step Functions would."""
    encoded = g.map(g.task("encode") >> g.task("decode"), items=g.out["chunks"], name="encoding") >> g.task("pair")
    reencoded = encoded >> g.map(g.task("reencode"), items=g.out, name="re-encoding")
    return reencoded >> g.fold(g.task("rebase_next"), items=g.out, initial=[]) >> g.task("concatenate")


def machine_learning() -> Piece:
    """Train one model for each number of rounds, then select the best."""
    models = g.map(g.task("train"), items=g.out["rounds"], select={"samples": g.out["samples"], "rounds": g.item})
    return g.task("generate") >> models >> g.task("select")


def video_analysis() -> Piece:
    """Decode a video, look for objects in each batch of frames, then summarize."""
    return g.task("decode") >> g.map(g.task("detect"), items=g.out["batches"]) >> g.task("summarize")


def trip_booking() -> Piece:
    """Reserve hotel, car and flight; what fails cancels everything reserved before it, in reverse order."""
    hotel, car, flight = g.task("cancel_hotel"), g.task("cancel_car"), g.task("cancel_flight")
    return (
        g.task("reserve_hotel")
        >> g.task("reserve_car").catch(then=hotel >> g.succeed(), into="error")
        >> g.task("reserve_flight").catch(then=car >> hotel >> g.succeed(), into="error")
        >> g.task("confirm").catch(then=flight >> car >> hotel >> g.succeed(), into="error")
    )


def map_reduce() -> Piece:
    """Build an index of documents: split, map, shuffle, reduce."""
    mapped = g.task("split") >> g.map(g.task("find_words"), items=g.out, name="mapping")
    return mapped >> g.task("shuffle") >> g.map(g.task("index"), items=g.out, name="reducing")


def genome() -> Piece:
    """Compare mutations: both analyses wait for the merged individuals and the sifted positions, not for each other."""
    populations = g.out["sifted"]["populations"]
    select = {"population": g.item, "people": g.out["people"], "positions": g.out["sifted"]["positions"]}
    people = g.map(g.task("read_block"), items=g.out["blocks"], name="blocks") >> g.task("merge")
    overlap = g.map(g.task("overlap"), items=populations, select=select, name="overlaps")
    frequency = g.map(g.task("frequency"), items=populations, select=select, name="frequencies")
    analyses = {"overlap": overlap.after("people", "sifted"), "frequency": frequency.after("people", "sifted")}
    return g.dag({"people": people, "sifted": g.task("sift"), **analyses})


def genome_barrier() -> Piece:
    """Compare the same mutations with a barrier after each phase, as Step Functions would."""
    people = g.map(g.task("read_block"), items=g.out["blocks"], name="blocks") >> g.task("merge")
    prepared = g.parallel(people, g.task("sift"), name="prepared")
    populations = g.out[1]["populations"]
    select = {"population": g.item, "people": g.out[0], "positions": g.out[1]["positions"]}
    overlap = g.map(g.task("overlap"), items=populations, select=select, name="overlaps")
    frequency = g.map(g.task("frequency"), items=populations, select=select, name="frequencies")
    return prepared >> g.parallel(overlap, frequency, name="analyses")


def function_chain() -> Piece:
    """Pass a buffer through a long chain of Tasks, written as a loop in Python."""
    return g.seq(g.task("allocate"), *(g.task(f"fill {number}", "fill") for number in range(1, STEPS + 1)))
