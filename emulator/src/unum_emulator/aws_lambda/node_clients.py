"""AWS clients of Node.js functions, in the absence of the AWS SDK that Lambda's runtime contains.

ministack's stand-ins invent each client and command when a program reads its name, and list no names. Bundlers copy the
listed names into an object that inherits from the module's prototype (`__toESM` of esbuild), so bundled functions, such
as the CDK's for log retention, would find no client. Here the prototype invents names, too.
"""

from ministack.core import lambda_runtime

from unum_emulator.patching import SUPPORTED, UnsupportedMinistackError, replace

_MODULE = """return new Proxy(
      {},
      {
        get(_, prop) {"""
_IMPORTABLE = """
const importable = (target, handler) => {
  // Two objects: an object that were its own prototype would never end a search for a prototype (`instanceof`).
  const prototype = new Proxy(target, handler);
  return new Proxy(target, { ...handler, getPrototypeOf: () => prototype });
};
"""


def install() -> None:
    """Let bundled functions read names of the stand-ins."""
    script = lambda_runtime._NODEJS_WORKER_SCRIPT
    if script.count(_MODULE) != 1:
        raise UnsupportedMinistackError(f"worker of Node.js: expected {_MODULE!r} once, as in ministack {SUPPORTED}")
    own = script.replace(_MODULE, _MODULE.replace("new Proxy", "importable"))
    replace(lambda_runtime, "_NODEJS_WORKER_SCRIPT", _IMPORTABLE + own)
