"""Access to the emulator: which requests of this machine it answers.

Functions run as the user who started the emulator, so a request that creates one runs code as that user. Web pages in
the user's browser can send requests to loopback addresses; their hosts and origins are refused (`opened_endpoints`).
Every other request needs a signature with a key of this emulator (`signatures`, `access_keys`), except those to
endpoints that a deployed app has opened to callers without credentials (`opened_endpoints`). `request_guard` decides,
and applies its decisions.
"""
