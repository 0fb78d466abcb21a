"""JSONata states: expressions in JSONata 2 between ``{%`` and ``%}``. Source: specification, "JSONata".

The package jsonata-python, extra ``jsonata`` of this distribution, implements the language. Its import costs a cold
start tens of milliseconds; only `library` imports it, at the compilation of the first expression. The compiler uses
`check`, which layers do not contain.
"""
