"""The public catalogue of products, with the prices of servers and Macs."""

from functools import partial

from hostler.simulators.scaleway.api.pages import NEWER, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import mac_catalogue
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import GB, GIB, ServerType, types_of
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.options import INSTANCE_ZONES

PATH = "/product-catalog/v2alpha1/public-catalog/products"
ARCHS = {"x86_64": "x64", "arm64": "arm64"}
BANDWIDTH = 200_000_000
Body = dict[str, object]


def money(amount: float) -> Body:
    """Return an amount in EUR, in whole units and billionths."""
    units = int(amount)
    return {"currency_code": "EUR", "units": units, "nanos": round((amount - units) * 10**9)}


def shared(zone: str, name: str, price: float, kind: str) -> Body:
    """Return what the bodies of all products have."""
    return {
        "sku": f"/{kind.lower().replace(' ', '-')}/{name.lower()}/run_{zone}",
        "service_category": "Compute",
        "product_category": kind,
        "product": name,
        "variant": f"{name} - {zone}",
        "description": f"{name} in {zone}",
        "locality": {"zone": zone},
        "price": {"retail_price": money(price)},
        "environmental_impact_estimation": {"kg_co2_equivalent": 0.01, "m3_water_usage": 0.001},
        "unit_of_measure": {"unit": "hour", "size": 1},
        "status": "general_availability",
        "badges": [],
    }


def hardware(cores: int, arch: str, memory: int, disk: int) -> Body:
    """Return what a machine is made of; memory and disk in bytes."""
    network = {"internal_bandwidth": BANDWIDTH, "public_bandwidth": BANDWIDTH}
    return {
        "cpu": {
            "description": f"{cores} vCPUs",
            "arch": arch,
            "type": "",
            "threads": cores,
            "virtual": {"count": cores},
        },
        "ram": {
            "description": f"{memory // GIB} GiB",
            "size": memory,
            "type": "",
            "ecc_type": "standard",
        },
        "storage": {"description": f"{disk // GB} GB", "total": disk},
        "network": {"description": "200 Mbps", "max_public_bandwidth": BANDWIDTH, **network},
    }


def server_body(zone: str, sort: ServerType) -> Body:
    """Return the body of a type of servers."""
    made_of = hardware(sort.cores, ARCHS[sort.arch], sort.memory * GIB, sort.local * GB)
    gpu = {"description": f"{sort.gpus} GPU", "count": sort.gpus, "type": sort.name.split("-")[0]}
    instance: Body = {
        "range": "GPU" if sort.gpus else "General Purpose",
        "offer_id": sort.name,
        "recommended_replacement_offer_ids": [],
    }
    return {
        **shared(zone, sort.name, sort.price, "Instance"),
        "properties": {
            "hardware": {**made_of, "gpu": gpu} if sort.gpus else made_of,
            "instance": instance,
        },
    }


def mac_body(zone: str, sort: mac_catalogue.MacType) -> Body:
    """Return the body of a type of Macs."""
    memory, disk = mac_catalogue.memory_bytes(sort), mac_catalogue.disk_bytes(sort)
    return {
        **shared(zone, sort.name, sort.price, "Apple silicon"),
        "properties": {
            "hardware": hardware(sort.cores, "apple_silicon", memory, disk),
            "apple_silicon": {"range": sort.name.split("-")[0]},
        },
    }


def products(cloud: Cloud, call: Call) -> Answer:
    """List products: of these sorts, in a zone or in all, by name if one is asked for."""
    kinds, names = call.texts("product_types"), call.texts("api_ids")
    chosen = call.choice("zone", *INSTANCE_ZONES)
    makers = [
        maker
        for zone in ([chosen] if chosen else INSTANCE_ZONES)
        for maker in in_zone(zone, kinds, names)
    ]
    return page_of(cloud, call, makers, lambda make: make(), NEWER.of("products"))


def in_zone(zone: str, kinds: list[str], names: list[str]) -> list[partial[Body]]:
    """Return what makes the bodies of a zone's products; only those of one page are made."""
    found: list[partial[Body]] = []
    if not kinds or "instance" in kinds:
        found += [
            partial(server_body, zone, sort)
            for sort in types_of(zone).values()
            if not names or sort.name in names
        ]
    if not kinds or "apple_silicon" in kinds:
        found += [
            partial(mac_body, zone, sort)
            for sort in mac_catalogue.types_of(zone).values()
            if not names or sort.name in names
        ]
    return found


ROUTES = (Route("product.list", "GET", PATH, products, public=True),)
