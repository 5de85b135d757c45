"""One nemesis for each fault, by family."""

from faults.matrix.nemeses import access, clients, network, others, processes, servers, topology
from faults.matrix.nemeses.fault import Fault

FAULTS: dict[str, Fault] = {
    **clients.FAULTS,
    **servers.FAULTS,
    **network.FAULTS,
    **access.FAULTS,
    **topology.FAULTS,
    **others.FAULTS,
    **processes.FAULTS,
}

__all__ = ["FAULTS", "Fault"]
