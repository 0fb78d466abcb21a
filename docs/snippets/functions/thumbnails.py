"""Programs that call a Task of the workflow."""

# --8<-- [start:program]
from unum_client import AsyncClient, Client, as_completed


def connect(control_function_arn: str) -> Client:
    """Return a client that calls through the control function."""
    return Client.connect(workflow="Photos", control_alias=control_function_arn)


def thumbnail(client: Client, name: str) -> str:
    """Return the name of one thumbnail."""
    return str(client.call("Resize", {"image": name, "width": 100}, timeout_s=60))


def thumbnails(client: Client, names: list[str]) -> dict[str, str]:
    """Return the names of thumbnails, which are made at the same time."""
    calls = [client.begin_call("Resize", {"image": name, "width": 100}) for name in names]
    return {call.arguments["image"]: call.result() for call in as_completed(calls)}


async def thumbnails_in_a_loop(client: Client, names: list[str]) -> dict[str, str]:
    """Return the same names, without blocking the event loop."""
    async with AsyncClient(client) as unum:
        calls = [await unum.begin_call("Resize", {"image": name, "width": 100}) for name in names]
        return {call.arguments["image"]: await unum.result(call) async for call in unum.as_completed(calls)}


# --8<-- [end:program]
