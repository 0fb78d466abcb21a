"""A local AWS for workflows of Lambda functions: ministack, with its gaps closed.

`unum_emulator.process` is the door: it needs the standard library alone and starts, describes and
stops an emulator from any environment. Every other module runs inside the emulator's own process
and closes one gap of ministack each; `unum_emulator.emulation` puts them together.
"""
