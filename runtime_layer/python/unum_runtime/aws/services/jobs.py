"""The jobs that ``.sync`` waits for: how to look at each, and when it is over.

Source: Developer Guide, "Run a Job (.sync)" and the pages of the services; shapes of results have been recorded for
Step Functions, and are those of the services' descriptions for the rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from unum_runtime.model.ir import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """How to wait for one kind of job.

    Attributes:
        describe: operation that tells how it is.
        handle: that operation's parameters. A text is the path of a field of what started the job: of the response,
            or else of the parameters.
        status: path of the job's status in the description.
        succeeded: states of success.
        failed: states of failure.
        result: path of the result in the description; empty for all of it.
        wrapped: name of the only field of the result that holds the job; empty where the job is the result.
        is_broken: whether a job that ended in a state of success failed all the same.
        first_ms: how long to wait before the first look.
        stop: operation that stops the job; empty if nothing can.
        stopped: that operation's parameters, from the handle.
    """

    describe: str
    handle: Mapping[str, Json]
    status: str
    succeeded: tuple[str, ...]
    failed: tuple[str, ...]
    result: str = ""
    wrapped: str = ""
    is_broken: Callable[[Json], bool] = lambda _job: False
    first_ms: int = 2_000
    stop: str = ""
    stopped: Mapping[str, Json] = field(default_factory=dict)


def _has_failed_container(task: Json) -> bool:
    """A task of ECS just stops; whether that was success is a matter of how its containers ended."""
    codes = [container.get("ExitCode") for container in task.get("Containers", ())]
    return task.get("StopCode") == "TaskFailedToStart" or any(code != 0 for code in codes)


def _sagemaker(kind: str) -> Job:
    return Job(
        describe=f"Describe{kind}",
        handle={f"{kind}Name": f"{kind}Name"},
        stop=f"Stop{kind}",
        stopped={f"{kind}Name": f"{kind}Name"},
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
        failed=() if "TERMINATED" in succeeded else ("TERMINATED",),
        result="Application",
    )


def _emr_run(succeeded: tuple[str, ...], failed: tuple[str, ...]) -> Job:
    return Job(
        describe="GetJobRun",
        handle={"ApplicationId": "ApplicationId", "JobRunId": "JobRunId"},
        stop="" if "CANCELLED" in succeeded else "CancelJobRun",
        stopped={"ApplicationId": "ApplicationId", "JobRunId": "JobRunId"},
        status="JobRun.State",
        succeeded=succeeded,
        failed=failed,
        result="JobRun",
        first_ms=10_000,
    )


def _build(many: str, one: str) -> Job:
    return Job(
        describe=f"BatchGet{many}",
        handle={"Ids": [f"{one}.Id"]},
        stop=f"Stop{one}",
        stopped={"Id": "Ids.0"},
        status=f"{many}.0.{one}Status",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "FAULT", "TIMED_OUT", "STOPPED"),
        result=f"{many}.0",
        wrapped=one,
        first_ms=10_000,
    )


JOBS: Mapping[str, Job] = {
    "states:startExecution": Job(
        describe="DescribeExecution",
        handle={"ExecutionArn": "ExecutionArn"},
        stop="StopExecution",
        stopped={"ExecutionArn": "ExecutionArn"},
        status="Status",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "TIMED_OUT", "ABORTED"),
        first_ms=1_000,
    ),
    "athena:startQueryExecution": Job(
        describe="GetQueryExecution",
        handle={"QueryExecutionId": "QueryExecutionId"},
        stop="StopQueryExecution",
        stopped={"QueryExecutionId": "QueryExecutionId"},
        status="QueryExecution.Status.State",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "CANCELLED"),
        first_ms=1_000,
    ),
    "batch:submitJob": Job(
        describe="DescribeJobs",
        handle={"Jobs": ["JobId"]},
        stop="TerminateJob",
        stopped={"JobId": "Jobs.0", "Reason": "Jobs.0"},  # a reason is required, and the job is known well enough
        status="Jobs.0.Status",
        succeeded=("SUCCEEDED",),
        failed=("FAILED",),
        result="Jobs.0",
        first_ms=10_000,
    ),
    "bedrock:createModelCustomizationJob": Job(
        describe="GetModelCustomizationJob",
        handle={"JobIdentifier": "JobArn"},
        stop="StopModelCustomizationJob",
        stopped={"JobIdentifier": "JobIdentifier"},
        status="Status",
        succeeded=("Completed",),
        failed=("Failed", "Stopped"),
        first_ms=60_000,
    ),
    "codebuild:startBuild": _build("Builds", "Build"),
    "codebuild:startBuildBatch": _build("BuildBatches", "BuildBatch"),
    "codebuild:retryBuildBatch": _build("BuildBatches", "BuildBatch"),
    "databrew:startJobRun": Job(
        describe="DescribeJobRun",
        handle={"Name": "Name", "RunId": "RunId"},
        stop="StopJobRun",
        stopped={"Name": "Name", "RunId": "RunId"},
        status="State",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "STOPPED", "TIMEOUT"),
        first_ms=15_000,
    ),
    "ecs:runTask": Job(
        describe="DescribeTasks",
        handle={"Cluster": "Tasks.0.ClusterArn", "Tasks": ["Tasks.0.TaskArn"]},
        stop="StopTask",
        stopped={"Cluster": "Cluster", "Task": "Tasks.0"},
        status="Tasks.0.LastStatus",
        succeeded=("STOPPED",),
        failed=(),
        result="Tasks.0",
        is_broken=_has_failed_container,
        first_ms=5_000,
    ),
    "emr-containers:startJobRun": Job(
        describe="DescribeJobRun",
        handle={"Id": "Id", "VirtualClusterId": "VirtualClusterId"},
        stop="CancelJobRun",
        stopped={"Id": "Id", "VirtualClusterId": "VirtualClusterId"},
        status="JobRun.State",
        succeeded=("COMPLETED",),
        failed=("FAILED", "CANCELLED"),
        result="JobRun",
        first_ms=10_000,
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
        stopped={"JobName": "JobName", "JobRunIds": ["RunId"]},
        status="JobRun.JobRunState",
        succeeded=("SUCCEEDED",),
        failed=("FAILED", "TIMEOUT", "ERROR", "STOPPED", "EXPIRED"),
        result="JobRun",
        first_ms=10_000,
    ),
    "mediaconvert:createJob": Job(
        describe="GetJob",
        handle={"Id": "Job.Id"},
        stop="CancelJob",
        stopped={"Id": "Id"},
        status="Job.Status",
        succeeded=("COMPLETE",),
        failed=("CANCELED", "ERROR"),
        first_ms=10_000,
    ),
    "sagemaker:createHyperParameterTuningJob": _sagemaker("HyperParameterTuningJob"),
    "sagemaker:createLabelingJob": _sagemaker("LabelingJob"),
    "sagemaker:createProcessingJob": _sagemaker("ProcessingJob"),
    "sagemaker:createTrainingJob": _sagemaker("TrainingJob"),
    "sagemaker:createTransformJob": _sagemaker("TransformJob"),
}
