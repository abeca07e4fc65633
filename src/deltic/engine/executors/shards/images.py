"""The shards of an engine as one image: the images of the shards, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltic.engine.executors.shards.plan import Key
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.image import Image, Json, Saved
from deltic.engine.storage.image import image_of, restored
from deltic.engine.storage.spilling import Space
from deltic.engine.storage.store import Store
from deltic.errors import UnsupportedError
from deltic.program.program import Program


def image_of_shards(about: Mapping[str, Json], shards: Sequence[Shard]) -> Image:
    """Return the image of the shards between epochs, when all layouts fit; `about` is added to the description."""
    images = [image_of(shard.store) for shard in shards]
    parts = [
        {"store": image.about, "pieces": len(image.pieces), "growing": list(image.growing), "learned": learned}
        for image, learned in zip(images, (shard.histories.written() for shard in shards), strict=True)
    ]
    growing = {_of_shard(n, name): values for n, image in enumerate(images) for name, values in image.growing.items()}
    return Image({**about, "shards": parts}, [piece for image in images for piece in image.pieces], growing)


def restored_stores(saved: Saved, program: Program) -> list[Store]:
    """Return the store of each shard, with the saved relations whose definitions are unchanged in the program."""
    stores, start = [], 0
    for number, said in enumerate(saved.about["shards"]):
        pieces = saved.pieces[start : start + said["pieces"]]
        growing = {name: saved.growing[_of_shard(number, name)] for name in said["growing"]}
        one = Saved(said["store"], pieces, growing)
        stores.append(restored(one, program, program.relations, Space(None, 0)))
        start += said["pieces"]
    return stores


def _of_shard(number: int, name: str) -> str:
    return f"{name}, shard {number}"


def refuse_other(about: Mapping[str, Json], shards: int) -> None:
    """Raise UnsupportedError for a state that was not written by this number of shards."""
    result = len(about.get("shards", ()))
    if result != shards:
        kind = f'engine="spark" with {result} shards' if result else 'engine="local"'
        raise UnsupportedError(f"the state was written by {kind}, and {shards} shards cannot take it: open it as then")


def places_of(about: Mapping[str, Json], program: Program) -> dict[str, tuple[Key, ...]]:
    """Return the keys of each relation's placements in a saved state, that of the home first."""
    result: dict[str, tuple[Key, ...]] = {}
    for name, keys in about.get("places", {}).items():
        home, *_ = there = tuple(None if key is None else tuple(key) for key in keys)
        relation = program.relations.get(name)
        if relation is not None and about["relations"].get(name) == f"{relation.fingerprint} {home}":
            result[name] = there
    return result


def refuse_missing(stores: Sequence[Store], program: Program) -> None:
    """Raise UnsupportedError if a table was not restored."""
    missing = [table for table, name in program.tables.items() if any(name not in s.states for s in stores)]
    if missing:
        raise UnsupportedError(
            f"the state has the rows of {', '.join(missing)} by other keys than the program asks for now: "
            "open it with the program that wrote it"
        )
