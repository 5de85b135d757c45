"""Who is in the world."""

from __future__ import annotations

from ..chat.part import Phones
from ..downloads.part import Crawlers
from ..logs.part import Logs
from ..mail.part import Post
from ..market.part import Traders
from ..sale.part import Shop
from ..traffic.part import Players
from .ground import Ground
from .part import Part


def parts_on(ground: Ground) -> list[Part]:
    """All of them, in the order in which they come to an end: the post last, it mails the sales."""
    shop = Shop(ground)
    return [
        shop,
        Traders(ground),
        Crawlers(ground),
        Players(ground),
        Phones(ground),
        Logs(ground),
        Post(ground, shop.shop, shop.engine),
    ]
