"""A local AWS for workflows of Lambda functions: ministack, with corrections where it differs from AWS.

`unum_emulator.process` is the entry point: it needs only the standard library, and starts and stops an emulator from
any environment. Every other module runs inside the emulator's own process and corrects one behaviour;
`unum_emulator.emulation` installs them all.
"""
