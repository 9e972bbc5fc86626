"""TLS: our certificate as others read it, and who may speak to us."""

import ssl
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from goplugin_kit import NOW, Identity, echo, identity, served, unary
from grpclib.exceptions import StreamTerminatedError

from hostler.frontends.fleeting.goplugin.tls.certificate import certificate, pem
from hostler.frontends.fleeting.goplugin.tls.mutual import mutual
from hostler.frontends.fleeting.goplugin.tls.p256 import Key, fresh, times

METHOD = unary(echo)


@pytest.fixture(scope="module")
def host() -> Identity:
    return identity()


@pytest.mark.parametrize("secret", [1, 2, 3, 112233445566778899, 2**255 + 12345, 2**256 - 2**225])
def test_points_are_those_of_another_library(secret: int) -> None:
    numbers = ec.derive_private_key(secret, ec.SECP256R1()).public_key().public_numbers()
    assert times(secret) == (numbers.x, numbers.y)


@pytest.mark.parametrize("attempt", range(20))
def test_another_library_verifies_the_certificates_own_signature(attempt: int) -> None:
    key = fresh()
    made = x509.load_der_x509_certificate(certificate(key, NOW + timedelta(days=attempt)))
    made.verify_directly_issued_by(made)
    public = made.public_key()
    assert isinstance(public, ec.EllipticCurvePublicKey)
    public.verify(made.signature, made.tbs_certificate_bytes, ec.ECDSA(hashes.SHA256()))


def test_the_certificate_has_the_fields_of_go_plugins_own() -> None:
    made = x509.load_der_x509_certificate(certificate(fresh(), NOW))
    found = made.extensions
    assert found.get_extension_for_class(x509.SubjectAlternativeName).value == (
        x509.SubjectAlternativeName([x509.DNSName("localhost")])
    )
    constraints = found.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert constraints.value.ca
    usage = found.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert usage.key_cert_sign
    assert not usage.crl_sign
    assert made.not_valid_before_utc < NOW < made.not_valid_after_utc - timedelta(days=9000)
    assert made.subject == made.issuer


def test_a_private_key_is_readable_and_nowhere_shown() -> None:
    key = fresh()
    loaded = serialization.load_pem_private_key(pem(key, certificate(key, NOW)).encode(), None)
    assert isinstance(loaded, ec.EllipticCurvePrivateKey)
    assert loaded.private_numbers().private_value == key.secret
    assert str(key.secret) not in repr(key)


def test_no_two_signatures_are_alike() -> None:
    key = Key(5, *times(5))
    assert key.sign(b"x") != key.sign(b"x")


def test_no_key_stays_in_the_folder_and_while_it_is_there_it_is_private(
    tmp_path: Path, host: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = list[int]()
    load = ssl.SSLContext.load_cert_chain

    def look(context: ssl.SSLContext, certfile: Path) -> None:
        modes.append(stat.S_IMODE(certfile.stat().st_mode))
        load(context, certfile)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", look)
    mutual(host.certificate, tmp_path, NOW)
    assert modes == [0o600]
    assert list(tmp_path.iterdir()) == []


async def test_the_host_with_its_certificate_is_served(tmp_path: Path, host: Identity) -> None:
    tls = mutual(host.certificate, tmp_path, NOW)
    client = host.show(host.client(tls.certificate), tmp_path)
    async with served(tmp_path, METHOD, tls=tls.context, client=client) as plugin:
        assert await plugin.call(METHOD.path, "hello") == "hello"


@pytest.mark.parametrize("shows", [False, True])
async def test_a_client_without_the_hosts_certificate_is_refused(
    tmp_path: Path, host: Identity, shows: bool
) -> None:
    tls = mutual(host.certificate, tmp_path, NOW)
    client = host.client(tls.certificate)
    if shows:
        identity().show(client, tmp_path)
    async with served(tmp_path, METHOD, tls=tls.context, client=client) as plugin:
        with pytest.raises((OSError, StreamTerminatedError)):
            await plugin.call(METHOD.path, "hello", within=5)
    assert plugin.calls.begun == 0


def test_what_is_no_certificate_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="PLUGIN_CLIENT_CERT"):
        mutual("nonsense", tmp_path, NOW)
    assert list(tmp_path.iterdir()) == []


def test_nothing_below_tls_1_2_is_spoken(tmp_path: Path, host: Identity) -> None:
    context = mutual(host.certificate, tmp_path, NOW).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
