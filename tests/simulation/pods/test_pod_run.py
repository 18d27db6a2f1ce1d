"""The life of simulated pods (reference SIM-20)."""

# covers: orchtw.simulation.pods.container_run

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.pods.container_run import MOST_BACKOFF_S
from orchtw.simulation.pods.plans import FOREVER
from orchtw.simulation.pods.pod_run import DEADLINE, PROBE_FAILS, Missing
from orchtw.wire.objects import Object
from tests.simulation.pods.cases import Life, container, deleted, pod


class StartTests(SynchronousTestCase):
    def test_start(self) -> None:
        """A container is created, then runs and is ready at once; the pod is then at rest."""
        life = Life(pod())
        self.assertEqual(life.state, {"waiting": {"reason": "ContainerCreating"}})
        self.assertEqual(life.status["phase"], "Pending")
        life.pass_s(0.3)
        self.assertEqual((life.status["phase"], *life.state), ("Running", "running"))
        self.assertEqual(life.condition("Ready")["status"], "True")
        self.assertEqual([reason for reason, _ in life.events], ["Pulled", "Created", "Started"])
        self.assertEqual(life.run.due, FOREVER)

    def test_delays(self) -> None:
        """Annotations and probes delay the start and the readiness; `started` follows the startup probe."""
        probes: Object = {"startupProbe": {"initialDelaySeconds": 2}, "readinessProbe": {"initialDelaySeconds": 5}}
        life = Life(pod(container(**probes), annotations={"start-delay": "3s"}))
        life.pass_s(2.9)
        self.assertIn("waiting", life.state)
        life.pass_s(0.1)
        status = life.status["containerStatuses"][0]
        self.assertEqual((status["started"], status["ready"]), (False, False))
        life.pass_s(2)
        self.assertTrue(life.status["containerStatuses"][0]["started"])
        life.pass_s(3)
        self.assertTrue(life.status["containerStatuses"][0]["ready"])

    def test_never_ready(self) -> None:
        """A container that shall never be ready is not, and says so."""
        life = Life(pod(annotations={"never-ready": "true"}))
        life.pass_s(3600)
        self.assertEqual(life.condition("Ready")["message"], "containers with unready status: [c]")
        self.assertIn("Unhealthy", dict(life.events))

    def test_init_containers(self) -> None:
        """Init containers run one after the other, a sidecar goes on, and the others start after them."""
        inits = [container("i"), container("s", restartPolicy="Always"), container("j")]
        life = Life(pod(initContainers=inits))
        self.assertEqual(life.state["waiting"]["reason"], "PodInitializing")
        self.assertEqual(life.condition("Initialized")["message"], "containers with incomplete status: [i s j]")
        seen: list[list[str]] = []
        for _ in range(24):
            life.pass_s(0.1)
            states = [next(iter(each["state"])) for each in life.status["initContainerStatuses"]]
            seen += [states] if states not in seen[-1:] else []
        self.assertEqual(seen[0], ["waiting"] * 3)
        self.assertEqual(seen[1:], [
            ["running", "waiting", "waiting"], ["terminated", "waiting", "waiting"],
            ["terminated", "running", "waiting"], ["terminated", "running", "running"],
            ["terminated", "running", "terminated"],
        ])
        self.assertEqual((life.status["phase"], life.condition("Initialized")["status"]), ("Running", "True"))

    def test_missing_config(self) -> None:
        """A container waits for what it refers to, and starts once that is there; volumes hold up all."""
        life = Life(pod())
        life.run.missing = Missing(containers={"c": 'secret "s" not found'})
        life.pass_s(0.3)
        waiting = {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}
        self.assertEqual(life.state, {"waiting": waiting})
        life.run.missing = Missing(volumes="no volume")
        life.pass_s(1)
        self.assertIn(("FailedMount", "no volume"), life.events)
        life.run.missing = Missing()
        life.pass_s(1)
        self.assertIn("running", life.state)

    def test_moved_file(self) -> None:
        """A pod is not ready while the file that its readiness probe asks for by HTTP is elsewhere."""
        web = container(readinessProbe={"httpGet": {"path": "/index.html", "port": 80}})
        life = Life(pod(web))
        life.pass_s(0.3)
        for moved, ready in (('{"/www/index.html": "/tmp/index.html"}', "False"), ('{"/www/other": "/x"}', "True")):
            life.change(pod(web, annotations={"moved": moved}))
            self.assertEqual(life.condition("Ready")["status"], ready, moved)
        self.assertIn(("Unhealthy", PROBE_FAILS), life.events)

    def test_image(self) -> None:
        """An image that cannot be pulled is tried again, until the annotation is gone."""
        life = Life(pod(annotations={"image-pull-error": "denied"}))
        life.pass_s(0.3)
        self.assertEqual(life.state["waiting"]["reason"], "ErrImagePull")
        self.assertIn('failed to pull image "app:1": denied', life.state["waiting"]["message"])
        life.pass_s(1)
        self.assertEqual(life.state["waiting"]["reason"], "ImagePullBackOff")
        life.change(pod())
        life.pass_s(0.3)
        self.assertIn("running", life.state)

    def test_missing_tag(self) -> None:
        """An image with a tag such as `nonexistent` cannot be pulled."""
        for tag in ("404", "nonexistent", "non-existent"):
            life = Life(pod({"name": "c", "image": f"registry:5000/web:{tag}"}))
            life.pass_s(0.3)
            self.assertEqual(life.state["waiting"]["reason"], "ErrImagePull", tag)


class EndTests(SynchronousTestCase):
    def test_completes(self) -> None:
        """A pod that does not start anew ends by itself after a second with code 0."""
        for policy in ("Never", "OnFailure"):
            life = Life(pod(restartPolicy=policy))
            life.pass_s(1.2)
            self.assertEqual(life.status["phase"], "Running")
            life.pass_s(0.1)
            self.assertEqual(life.status["phase"], "Succeeded")
            self.assertEqual(life.state["terminated"]["reason"], "Completed")
            self.assertEqual(life.condition("Ready")["reason"], "PodCompleted")

    def test_endless(self) -> None:
        """A container that looks like a server runs on whatever the policy; so does one told never to end."""
        for each in (container(ports=[{"containerPort": 80}]), {"name": "c", "image": "k8s.io/pause:3.9"}):
            life = Life(pod(each, restartPolicy="Never"))
            life.pass_s(3600)
            self.assertEqual(life.status["phase"], "Running")
        life = Life(pod(restartPolicy="Never", annotations={"exit-after": "never"}))
        life.pass_s(3600)
        self.assertEqual(life.status["phase"], "Running")

    def test_command(self) -> None:
        """A command that is simulated decides about the end."""
        life = Life(pod(container(command=["sh", "-c", "sleep 5; exit 3"]), restartPolicy="Never"))
        life.pass_s(5.2)
        self.assertEqual(life.status["phase"], "Running")
        life.pass_s(0.2)
        self.assertEqual((life.status["phase"], life.state["terminated"]["exitCode"]), ("Failed", 3))

    def test_annotated_end(self) -> None:
        """Code and time of the end can be given for all containers, or for one."""
        wishes = {"exit-code": "7", "exit-after": "4s", "exit-code.d": "0"}
        life = Life(pod(container(), container("d"), annotations=wishes, restartPolicy="Never"))
        life.pass_s(4.2)
        self.assertEqual(life.status["phase"], "Running")
        life.pass_s(0.1)
        codes = [each["state"]["terminated"]["exitCode"] for each in life.status["containerStatuses"]]
        self.assertEqual((life.status["phase"], codes), ("Failed", [7, 0]))

    def test_oom(self) -> None:
        """A container out of memory ends with 137 and says why."""
        life = Life(pod(annotations={"oom": "true"}, restartPolicy="Never"))
        life.pass_s(1.5)
        ended = life.state["terminated"]
        self.assertEqual((ended["exitCode"], ended["reason"]), (137, "OOMKilled"))

    def test_back_off(self) -> None:
        """Restarts come at once, then after 10 s, 20 s and so on up to five minutes."""
        life = Life(pod(annotations={"crash": "20", "exit-after": "1s"}))
        gaps, ended, count = [], 0.0, 0
        for _ in range(20_000):
            life.pass_s(0.1)
            if "terminated" in life.state and not ended:
                ended = life.now
            elif "running" in life.state and ended:
                gaps.append(round(life.now - ended))
                ended = 0.0
        self.assertEqual(gaps[:8], [1, 10, 20, 40, 80, 160, int(MOST_BACKOFF_S), int(MOST_BACKOFF_S)])
        self.assertIn(("BackOff", "Back-off restarting failed container"), life.events)
        count = life.status["containerStatuses"][0]["restartCount"]
        self.assertGreaterEqual(count, len(gaps))

    def test_crash_ends(self) -> None:
        """After its crashes a container runs for good."""
        life = Life(pod(annotations={"crash": "2"}))
        life.pass_s(60)
        life.pass_s(3600)
        status = life.status["containerStatuses"][0]
        self.assertEqual((*status["state"], status["restartCount"]), ("running", 2))
        self.assertEqual(status["lastState"]["terminated"]["exitCode"], 1)

    def test_stable_run(self) -> None:
        """A run of ten minutes is a success: the next restart comes at once."""
        life = Life(pod(annotations={"exit-after": "11m", "exit-code": "1"}))
        life.pass_s(0.8)
        for _ in range(3):
            life.pass_s(660)
            self.assertIn("terminated", life.state)
            life.pass_s(1)
            self.assertIn("running", life.state)

    def test_deadline(self) -> None:
        """A pod that is active for too long fails."""
        life = Life(pod(activeDeadlineSeconds=5, terminationGracePeriodSeconds=30))
        life.pass_s(5)
        self.assertEqual((life.status["phase"], life.status["reason"]), ("Failed", "DeadlineExceeded"))
        life.pass_s(1)
        self.assertIn("terminated", life.state)
        self.assertIn(("DeadlineExceeded", DEADLINE), life.events)

    def test_sidecars_last(self) -> None:
        """Sidecars end after the other containers, the last one first."""
        sidecars = [container(name, restartPolicy="Always") for name in ("s", "t")]
        life = Life(pod(initContainers=sidecars, restartPolicy="Never"))
        life.pass_s(2.0)
        states = [next(iter(each["state"])) for each in life.status["initContainerStatuses"]]
        self.assertEqual((life.status["phase"], states), ("Running", ["running", "running"]))
        life.pass_s(0.5)
        states = [next(iter(each["state"])) for each in life.status["initContainerStatuses"]]
        self.assertEqual(states, ["running", "terminated"])
        life.pass_s(1)
        self.assertEqual(life.status["phase"], "Succeeded")

    def test_init_fails(self) -> None:
        """A failed init container fails a pod that does not start anew."""
        life = Life(pod(initContainers=[container("i")], annotations={"exit-code.i": "2"}, restartPolicy="Never"))
        life.pass_s(1)
        self.assertEqual(life.status["phase"], "Failed")
        self.assertIn("waiting", life.state)
        self.assertTrue(life.run.is_over)


class DeletionTests(SynchronousTestCase):
    def test_graceful(self) -> None:
        """Containers end shortly after they are asked to, with code 0 if they serve."""
        life = Life(pod())
        life.pass_s(1)
        life.change(deleted(life.pod))
        self.assertFalse(life.run.is_over)
        self.assertIn(("Killing", "Stopping container c"), life.events)
        life.pass_s(0.5)
        self.assertTrue(life.run.is_over)
        self.assertEqual(life.state["terminated"]["exitCode"], 0)

    def test_whole_period(self) -> None:
        """One that does not end is killed when the grace period is over."""
        life = Life(pod(annotations={"termination-delay": "1h"}))
        life.pass_s(1)
        life.change(deleted(life.pod, 20))
        life.pass_s(19.9)
        self.assertFalse(life.run.is_over)
        life.pass_s(0.1)
        self.assertEqual(life.state["terminated"]["exitCode"], 137)

    def test_shorter_period(self) -> None:
        """A second deletion may shorten the period."""
        life = Life(pod(annotations={"termination-delay": "1h"}))
        life.pass_s(1)
        life.change(deleted(life.pod, 1000))
        life.pass_s(5)
        life.change(deleted(life.pod, 2))
        life.pass_s(2)
        self.assertTrue(life.run.is_over)

    def test_before_start(self) -> None:
        """A pod whose containers have not started is over at once."""
        life = Life(deleted(pod()))
        self.assertTrue(life.run.is_over)


class RestoredTests(SynchronousTestCase):
    """Runs that go on from a stored status."""

    def test_running(self) -> None:
        """A container that runs goes on to its end."""
        life = Life(pod(annotations={"exit-after": "60s"}, restartPolicy="Never"))
        life.pass_s(30)
        life.restore()
        self.assertIn("running", life.state)
        life.pass_s(31)
        self.assertEqual(life.status["phase"], "Succeeded")

    def test_back_off(self) -> None:
        """The delays go on growing."""
        life = Life(pod(annotations={"crash": "9", "exit-after": "1s"}))
        life.pass_s(6)
        self.assertIn("back-off 10s", life.state["waiting"]["message"])
        before = life.status
        life.restore()
        self.assertEqual(life.status, before)
        for _ in range(14):
            life.pass_s(1)
        self.assertIn("back-off 20s", life.state["waiting"]["message"])

    def test_at_rest(self) -> None:
        """A pod at rest, and one that has ended, stay as they are."""
        for each in (pod(), pod(restartPolicy="Never"), pod(initContainers=[container("i")])):
            life = Life(each)
            life.pass_s(10)
            before = life.status
            life.restore()
            life.pass_s(3600)
            self.assertEqual(life.status, before)


class ChangedTests(SynchronousTestCase):
    def test_exit_at_once(self) -> None:
        """A new annotation counts for the run under way."""
        life = Life(pod(restartPolicy="Never", annotations={"exit-after": "never"}))
        life.pass_s(100)
        life.change(pod(restartPolicy="Never", annotations={"exit-after": "0s", "exit-code": "5"}))
        self.assertEqual(life.state["terminated"]["exitCode"], 5)

    def test_image(self) -> None:
        """A container with a new image is started anew."""
        life = Life(pod())
        life.pass_s(10)
        life.change(pod({"name": "c", "image": "app:2"}))
        life.pass_s(2)
        status = life.status["containerStatuses"][0]
        self.assertEqual((status["image"], status["restartCount"], *status["state"]), ("app:2", 1, "running"))

    def test_image_ends_back_off(self) -> None:
        """A new image starts at once, and its first failure is not counted with those of the old one."""
        life = Life(pod(annotations={"crash": "20", "exit-after": "1s"}))
        life.pass_s(100)
        self.assertEqual(life.state["waiting"]["reason"], "CrashLoopBackOff")
        changed = pod({"name": "c", "image": "app:2"}, annotations={"crash": "20", "exit-after": "1s"})
        life.change(changed)
        self.assertIn("running", life.state)
        life.pass_s(2.5)
        self.assertIn("running", life.state)

    def test_ephemeral(self) -> None:
        """An ephemeral container runs beside the others, and ends with the pod."""
        life = Life(pod())
        life.pass_s(10)
        life.change(pod(ephemeralContainers=[container("e")]))
        life.pass_s(1)
        (status,) = life.status["ephemeralContainerStatuses"]
        self.assertEqual((*status["state"], status["ready"]), ("running", False))

    def test_invalid_annotation(self) -> None:
        """An invalid annotation is named, and the default counts."""
        life = Life(pod(annotations={"exit-code": "many"}))
        life.pass_s(1)
        self.assertIn("running", life.state)
        text = "annotation simulate.orch.io/exit-code: 'many' must be an integer from 0 to 255; the default is used"
        self.assertIn(("InvalidAnnotation", text), life.events)
