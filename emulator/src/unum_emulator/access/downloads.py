"""URLs of functions' code and layers: presigned, as on AWS; ministack serves them to everybody.

https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCodeLocation.html
"""

from urllib.parse import urlsplit

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from ministack.services import lambda_svc

from unum_emulator.patching import replace
from unum_emulator.process_settings import REGION, Settings

_VALID_S = 7 * 24 * 3600  # AWS: 10 minutes, but ministack keeps a layer's URL as it was at its publication


def install(settings: Settings) -> None:
    """Sign the URLs with the emulator's key."""
    signer = S3SigV4QueryAuth(Credentials(settings.key.id, settings.key.secret), "s3", REGION, expires=_VALID_S)

    def signed(url: str) -> str:
        request = AWSRequest("GET", f"{settings.endpoint}{urlsplit(url).path}")
        signer.add_auth(request)
        return str(request.url)

    code_url, layer_url = lambda_svc._presigned_code_url, lambda_svc._layer_content_url
    replace(lambda_svc, "_presigned_code_url", lambda name: signed(code_url(name)))
    replace(lambda_svc, "_layer_content_url", lambda name, version: signed(layer_url(name, version)))
