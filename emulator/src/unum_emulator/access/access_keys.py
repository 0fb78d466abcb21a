"""Secrets of all access keys that one emulator accepts: its own, and those that its IAM, STS and Lambda hand out.

The emulator's own key is random and new at each start. It belongs to the account's root user. So does every account's
number as a key, with the same secret: functions of an emulator without IAM sign with it.
"""

import hmac
import re
import time
from collections.abc import Mapping
from typing import Any

from ministack import app
from ministack.core import iam_evaluator, lambda_runtime, responses
from ministack.services import lambda_svc, sts

from unum_emulator.access.guarded_requests import AccessRefusedError
from unum_emulator.patching import replace
from unum_emulator.process_settings import ACCOUNT, AccessKey

_ACCOUNT = re.compile(r"\d{12}")
_MISSING = "InvalidToken"


class Keys:
    """Secrets by access key."""

    def __init__(self, own: AccessKey) -> None:
        self._own = own

    def secret(self, key: str, token: str) -> str:
        """Return the secret of `key`.

        Args:
            key: access key id of a signature.
            token: session token of the same request; empty without one.

        Raises:
            AccessRefusedError: unknown or expired key, or another session's token.
        """
        if key == self._own.id or _ACCOUNT.fullmatch(key):
            return self._own.secret
        if iam_evaluator.is_root_access_key(key):  # ministack's fixed names of the root user
            raise _unknown(key)
        try:
            account = iam_evaluator.find_iam_access_key_account(key)
        except iam_evaluator.AmbiguousAccessKeyError as error:
            raise _unknown(key) from error
        account = account or responses._account_from_sts_session(key) or ACCOUNT
        found = iam_evaluator.resolve_credential(key, account, token)
        if isinstance(found, iam_evaluator.ResolvedCredential):
            return str(found.secret_access_key)
        if found.code == _MISSING and token:
            raise AccessRefusedError("InvalidToken", "The security token included in the request is invalid")
        raise _unknown(key) if found.code == _MISSING else AccessRefusedError(found.code, found.message)


def install(own: AccessKey) -> None:
    """Give functions credentials with secrets that nobody can compute; ministack derives them from public names."""

    def execution_credentials(config: Mapping[str, Any]) -> dict[str, str]:
        role = config.get("Role", "")
        arn = config["FunctionArn"]
        account = arn.split(":")[4]
        if not app.AUTH:
            return {"AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": own.secret, "AWS_SESSION_TOKEN": ""}
        key = f"ASIA{_derived(own, 'key', arn, role)[:16].upper()}"
        secret, token = _derived(own, "secret", arn, role), _derived(own, "token", arn, role)
        name = config.get("FunctionName", "function")[:64]
        role_name = role.rsplit("/", 1)[-1]
        if key not in sts._sessions:
            session = {
                "Arn": f"arn:aws:sts::{account}:assumed-role/{role_name}/{name}",
                "UserId": f"{role_name}:{name}",
                "SecretAccessKey": secret,
                "SessionToken": token,
                "IssuedAt": time.time(),
            }
            sts.register_session(key, session)
        return {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token}

    replace(lambda_runtime, "execution_credentials", execution_credentials)
    replace(lambda_svc, "execution_credentials", execution_credentials)


def _derived(own: AccessKey, *parts: str) -> str:
    return hmac.new(own.secret.encode(), "\0".join(parts).encode(), "sha256").hexdigest()


def _unknown(key: str) -> AccessRefusedError:
    return AccessRefusedError(
        "UnrecognizedClientException",
        f"The security token included in the request is invalid: this emulator did not give out the key {key!r}. Use "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY that `make emulator` and `unum dev` print.",
    )
