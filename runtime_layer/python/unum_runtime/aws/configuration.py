"""How clients of AWS behave in our functions."""

from botocore.config import Config

from unum_runtime.aws.invoker import PARALLEL_CALLS


def client_config() -> Config:
    """The configuration of every client on the normal path."""
    return Config(
        max_pool_connections=PARALLEL_CALLS,
        retries={"mode": "standard", "max_attempts": 5},
        tcp_keepalive=True,
    )
