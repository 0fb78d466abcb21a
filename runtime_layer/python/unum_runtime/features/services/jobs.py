"""Jobs of ``.sync`` Tasks: polling requests, and final states.

Source: Developer Guide, "Run a Job (.sync)" and the pages of the services. Result shapes: recorded for Step Functions,
otherwise those of the services' descriptions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from unum_runtime.model.states import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Polling rules of one kind of job.

    Attributes:
        describe: operation that describes the job.
        handle: parameters of `describe`. A text is the path of a field in the start's response, or else in its
            parameters.
        status: path of the status in the description.
        succeeded: status values of success.
        failed: status values of failure.
        result: path of the result in the description; empty for all of it.
        wrapped: name of the result's only field, which holds the job; empty if the job is the result.
        adds: parameters of `describe` that become fields of the result.
        gone: error of `describe` after a success that leaves nothing to describe; empty if there is none.
        is_broken: function that detects a failure despite a status of success.
        first_ms: delay of the first poll.
        stop: operation that stops the job; empty if there is none.
        stop_parameters: parameters of `stop`, as paths in the handle; empty if the handle has them all.
    """

    describe: str
    handle: Mapping[str, Json]
    status: str
    succeeded: tuple[str, ...]
    failed: tuple[str, ...]
    result: str = ""
    wrapped: str = ""
    adds: tuple[str, ...] = ()
    gone: str = ""
    is_broken: Callable[[Json], bool] = lambda _job: False
    first_ms: int = 10_000
    stop: str = ""
    stop_parameters: Mapping[str, Json] = field(default_factory=dict)


def _has_failed_container(task: Json) -> bool:
    """Return True for a stopped ECS task with a failure: only its containers' exit codes tell."""
    # ExitCode is missing for a container that never ran (ECS API Reference, Container).
    codes = [container.get("ExitCode") for container in task.get("Containers", ())]
    return task.get("StopCode") == "TaskFailedToStart" or any(code != 0 for code in codes)


def _sagemaker(kind: str) -> Job:
    return Job(
        describe=f"Describe{kind}",
        handle={f"{kind}Name": f"{kind}Name"},
        stop=f"Stop{kind}",
        status=f"{kind}Status",
        succeeded=("Completed",),
        failed=("Failed", "Stopped"),
        first_ms=15_000,
    )


def _emr_application(*succeeded: str) -> Job:
    return Job(
        describe="GetApplication",
        handle={"ApplicationId": "ApplicationId"},
        status="Application.State",
        succeeded=succeeded,
        # For ``deleteApplication`` the end of the application is the success.
        failed=() if "TERMINATED" in succeeded else ("TERMINATED",),
        result="Application",
        first_ms=2_000,
    )


def _emr_run(succeeded: tuple[str, ...], failed: tuple[str, ...]) -> Job:
    return Job(
        describe="GetJobRun",
        handle={"ApplicationId": "ApplicationId", "JobRunId": "JobRunId"},
        # The job of ``cancelJobRun`` is a cancellation, which nothing can stop.
        stop="" if "CANCELLED" in succeeded else "CancelJobRun",
        status="JobRun.State",
        succeeded=succeeded,
        failed=failed,
        result="JobRun",
    )


def _build(many: str, one: str) -> Job:
    return Job(
        describe=f"BatchGet{many}",
        handle={"Ids": [f"{one}.Id"]},
        stop=f"Stop{one}",
        stop_parameters={"Id": "Ids.0"},
        status=f"{many}.0.{one}Status",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "FAULT", "TIMED_OUT", "STOPPED"),
        result=f"{many}.0",
        wrapped=one,
    )


def _eks(kind: str, handle: Mapping[str, Json], failed: tuple[str, ...]) -> Job:
    """Return the creation of a resource of EKS; a deletion ends when the resource cannot be described any more."""
    return Job(
        describe=f"Describe{kind}",
        handle=handle,
        status=f"{kind}.Status",
        succeeded=("ACTIVE",),
        failed=failed,
        first_ms=60_000,
    )


def _eks_deletion(creation: Job, *failed: str) -> Job:
    return replace(creation, succeeded=(), failed=failed, gone="ResourceNotFoundException")


def _emr_cluster(succeeded: tuple[str, ...], failed: tuple[str, ...]) -> Job:
    return Job(
        describe="DescribeCluster",
        handle={"ClusterId": "ClusterId"},
        status="Cluster.Status.State",
        succeeded=succeeded,
        failed=failed,
        adds=("ClusterId",),
        first_ms=60_000,  # Developer Guide, "Create and manage Amazon EMR clusters": a poll a minute
    )


_ENDED = ("TERMINATED", "TERMINATED_WITH_ERRORS")
_EKS_CLUSTER = _eks("Cluster", {"Name": "Cluster.Name"}, ("FAILED", "DELETING"))
_EKS_PROFILE, _EKS_NODES = (
    _eks(
        kind,
        {"ClusterName": f"{kind}.ClusterName", f"{kind}Name": f"{kind}.{kind}Name"},
        ("CREATE_FAILED", "DELETING", "DELETE_FAILED"),
    )
    for kind in ("FargateProfile", "Nodegroup")
)

JOBS: Mapping[str, Job] = {
    "states:startExecution": Job(
        describe="DescribeExecution",
        handle={"ExecutionArn": "ExecutionArn"},
        stop="StopExecution",
        status="Status",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "TIMED_OUT", "ABORTED"),
        first_ms=1_000,
    ),
    "athena:startQueryExecution": Job(
        describe="GetQueryExecution",
        handle={"QueryExecutionId": "QueryExecutionId"},
        stop="StopQueryExecution",
        status="QueryExecution.Status.State",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "CANCELLED"),
        first_ms=1_000,
    ),
    "batch:submitJob": Job(
        describe="DescribeJobs",
        handle={"Jobs": ["JobId"]},
        stop="TerminateJob",
        stop_parameters={"JobId": "Jobs.0", "Reason": "Jobs.0"},  # the API requires a reason
        status="Jobs.0.Status",
        succeeded=("SUCCEEDED",),
        failed=("FAILED",),
        result="Jobs.0",
    ),
    "bedrock:createModelCustomizationJob": Job(
        describe="GetModelCustomizationJob",
        handle={"JobIdentifier": "JobArn"},
        stop="StopModelCustomizationJob",
        status="Status",
        succeeded=("Completed",),
        failed=("Failed", "Stopped"),
        first_ms=60_000,  # customization takes hours
    ),
    "codebuild:startBuild": _build("Builds", "Build"),
    "codebuild:startBuildBatch": _build("BuildBatches", "BuildBatch"),
    "codebuild:retryBuildBatch": _build("BuildBatches", "BuildBatch"),
    "databrew:startJobRun": Job(
        describe="DescribeJobRun",
        handle={"Name": "Name", "RunId": "RunId"},
        stop="StopJobRun",
        status="State",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "STOPPED", "TIMEOUT"),
        first_ms=15_000,
    ),
    "ecs:runTask": Job(
        describe="DescribeTasks",
        handle={"Cluster": "Tasks.0.ClusterArn", "Tasks": ["Tasks.0.TaskArn"]},
        stop="StopTask",
        stop_parameters={"Cluster": "Cluster", "Task": "Tasks.0"},
        status="Tasks.0.LastStatus",
        succeeded=("STOPPED",),
        failed=(),
        result="Tasks.0",
        is_broken=_has_failed_container,
        first_ms=5_000,
    ),
    "eks:createCluster": _EKS_CLUSTER,
    "eks:createFargateProfile": _EKS_PROFILE,
    "eks:createNodegroup": _EKS_NODES,
    "eks:deleteCluster": _eks_deletion(_EKS_CLUSTER, "FAILED"),
    "eks:deleteFargateProfile": _eks_deletion(_EKS_PROFILE, "DELETE_FAILED"),
    "eks:deleteNodegroup": _eks_deletion(_EKS_NODES, "DELETE_FAILED"),
    "eks:runJob": Job(
        # Requests of the feature `kubernetes`, where others have operations of an AWS API.
        describe="read",
        handle={
            **{name: name for name in ("ClusterName", "CertificateAuthority", "Endpoint", "LogOptions")},
            "Namespace": "ResponseBody.metadata.namespace",
            "Name": "ResponseBody.metadata.name",
        },
        stop="delete",
        status="Condition",
        succeeded=("Complete",),
        failed=("Failed",),
        result="Job",
    ),
    "elasticmapreduce:addStep": Job(
        describe="DescribeStep",
        handle={"ClusterId": "ClusterId", "StepId": "StepId"},
        stop="CancelSteps",
        stop_parameters={"ClusterId": "ClusterId", "StepIds": ["StepId"]},
        status="Step.Status.State",
        succeeded=("COMPLETED",),
        failed=("CANCELLED", "FAILED", "INTERRUPTED"),
        first_ms=60_000,
    ),
    "elasticmapreduce:createCluster": _emr_cluster(("WAITING",), _ENDED),
    "elasticmapreduce:terminateCluster": _emr_cluster(_ENDED, ()),
    "emr-containers:startJobRun": Job(
        describe="DescribeJobRun",
        handle={"Id": "Id", "VirtualClusterId": "VirtualClusterId"},
        stop="CancelJobRun",
        status="JobRun.State",
        succeeded=("COMPLETED",),
        failed=("FAILED", "CANCELLED"),
        result="JobRun",
    ),
    "emr-serverless:createApplication": _emr_application("CREATED", "STARTING", "STARTED", "STOPPING", "STOPPED"),
    "emr-serverless:startApplication": _emr_application("STARTED"),
    "emr-serverless:stopApplication": _emr_application("STOPPED", "CREATED"),
    "emr-serverless:deleteApplication": _emr_application("TERMINATED"),
    "emr-serverless:startJobRun": _emr_run(("SUCCESS",), ("FAILED", "CANCELLED")),
    "emr-serverless:cancelJobRun": _emr_run(("CANCELLED", "SUCCESS", "FAILED"), ()),
    "glue:startJobRun": Job(
        describe="GetJobRun",
        handle={"JobName": "JobName", "RunId": "JobRunId"},
        stop="BatchStopJobRun",
        stop_parameters={"JobName": "JobName", "JobRunIds": ["RunId"]},
        status="JobRun.JobRunState",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "TIMEOUT", "ERROR", "STOPPED", "EXPIRED"),
        result="JobRun",
        adds=("JobName",),
    ),
    "mediaconvert:createJob": Job(
        describe="GetJob",
        handle={"Id": "Job.Id"},
        stop="CancelJob",
        status="Job.Status",
        succeeded=("COMPLETE",),
        failed=("CANCELED", "ERROR"),
    ),
    "sagemaker:createHyperParameterTuningJob": _sagemaker("HyperParameterTuningJob"),
    "sagemaker:createLabelingJob": _sagemaker("LabelingJob"),
    "sagemaker:createProcessingJob": _sagemaker("ProcessingJob"),
    "sagemaker:createTrainingJob": _sagemaker("TrainingJob"),
    "sagemaker:createTransformJob": _sagemaker("TransformJob"),
}
