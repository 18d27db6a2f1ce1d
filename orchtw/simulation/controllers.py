"""The simulated controllers by their names in `--controllers`, in the order in which they start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.nodes.lifecycle import NodeLifecycle
from orchtw.simulation.nodes.pod_gc import PodGC
from orchtw.simulation.nodes.simulated_nodes import SimulatedNodes
from orchtw.simulation.pods.controller import SimulatedPods
from orchtw.simulation.scheduling.scheduler import Scheduler
from orchtw.simulation.services.endpoint_slice_mirroring import MirroringController
from orchtw.simulation.services.endpoint_slices import EndpointSliceController
from orchtw.simulation.services.endpoints import EndpointsController
from orchtw.simulation.services.load_balancers import LoadBalancerController
from orchtw.simulation.usage.registration import SimulatedMetrics
from orchtw.simulation.volumes.binder import VolumeBinder
from orchtw.simulation.volumes.ephemeral import EphemeralVolumes
from orchtw.simulation.volumes.expander import VolumeExpander
from orchtw.simulation.workloads.autoscaling.controller import AutoscalerController
from orchtw.simulation.workloads.budgets.controller import DisruptionController
from orchtw.simulation.workloads.cron.controller import CronJobController
from orchtw.simulation.workloads.daemons.controller import DaemonSetController
from orchtw.simulation.workloads.deployments.controller import DeploymentController
from orchtw.simulation.workloads.jobs.controller import JobController
from orchtw.simulation.workloads.jobs.ttl_after_finished import TTLAfterFinished
from orchtw.simulation.workloads.replicas import ReplicaSetController, ReplicationControllerController
from orchtw.simulation.workloads.stateful.controller import StatefulSetController
from orchtw.simulation.world import World

CONTROLLERS: Final[Mapping[str, Callable[[World], SimulatedController]]] = {
    SimulatedNodes.name: SimulatedNodes,
    NodeLifecycle.name: NodeLifecycle,
    Scheduler.name: Scheduler,
    SimulatedPods.name: SimulatedPods,
    PodGC.name: PodGC,
    ReplicationControllerController.name: ReplicationControllerController,
    ReplicaSetController.name: ReplicaSetController,
    DeploymentController.name: DeploymentController,
    StatefulSetController.name: StatefulSetController,
    DaemonSetController.name: DaemonSetController,
    JobController.name: JobController,
    CronJobController.name: CronJobController,
    TTLAfterFinished.name: TTLAfterFinished,
    AutoscalerController.name: AutoscalerController,
    DisruptionController.name: DisruptionController,
    VolumeBinder.name: VolumeBinder,
    VolumeExpander.name: VolumeExpander,
    EphemeralVolumes.name: EphemeralVolumes,
    EndpointsController.name: EndpointsController,
    EndpointSliceController.name: EndpointSliceController,
    MirroringController.name: MirroringController,
    LoadBalancerController.name: LoadBalancerController,
    SimulatedMetrics.name: SimulatedMetrics,
}
