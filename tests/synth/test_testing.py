"""`unum_constructs.testing`, for users' tests of their stacks."""

import copy
import json
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template
from syrupy.assertion import SnapshotAssertion

from tests.synth.deployment import CODE, Deployment, function
from tests.synth.machines import Machine, a_map, chain, choice, machine, task
from unum_constructs.testing import WorkflowResources, assert_workflow, normalize_template
from unum_constructs.testing.snapshots import TemplateSnapshotExtension

EDGES = {"A": ["B"], "B": ["C"], "C": []}


def deployed(definition: Machine, code: str = CODE, **options: Any) -> Deployment:
    deployment = Deployment.new()
    functions = {
        key: function(deployment.stack, key, code=lambda_.Code.from_inline(code), **options) for key in ("A", "B", "C")
    }
    deployment.flow(definition, functions)
    return deployment


@pytest.fixture(scope="module")
def three() -> Deployment:
    return deployed(chain("A", "B", "C"))


@pytest.fixture(scope="module")
def fan_out() -> Deployment:
    return Deployment.of(machine(M=a_map(chain("A", "B"), then="C"), C=task("C")), "A", "B", "C")


class TestNormalization:
    def test_other_code_gives_other_hashes_and_versions(self, three: Deployment) -> None:
        other = deployed(chain("A", "B", "C"), code=f"{CODE}# changed\n")
        assert three.template.keys() == other.template.keys()
        assert three.template["Resources"].keys() != other.template["Resources"].keys()
        assert _without_code(normalize_template(three.template)) == _without_code(normalize_template(other.template))

    def test_another_definition_does_not_show(self, three: Deployment) -> None:
        changed = chain("A", "B", "C")
        changed["States"]["C"]["OutputPath"] = "$.x"
        assert normalize_template(deployed(changed).template) == normalize_template(three.template)

    def test_other_options_show(self, three: Deployment) -> None:
        other = deployed(chain("A", "B", "C"), memory_size=1024)
        assert normalize_template(other.template) != normalize_template(three.template)

    def test_another_edge_shows(self, three: Deployment) -> None:
        other = machine(A=task("A", "Q"), Q=choice("B", skip="C"), B=task("B", "C"), C=task("C"))
        assert normalize_template(deployed(other).template) != normalize_template(three.template)

    def test_versions_keep_the_part_of_their_names_that_stays(self, three: Deployment) -> None:
        normal = normalize_template(three.template)
        names = {name for name, each in normal["Resources"].items() if each["Type"] == "AWS::Lambda::Version"}
        assert len(names) == 5
        assert three.version("A") not in json.dumps(normal)
        assert all(three.version(key)[:-32] in names for key in "ABC")

    def test_the_template_stays_as_it_is(self, three: Deployment) -> None:
        before = copy.deepcopy(three.template)
        normalize_template(three.template)
        assert three.template == before

    def test_what_counts_users_goes(self) -> None:
        template = {"Resources": {"CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2:x"}}}}
        assert normalize_template(template) == {"Resources": {}}


def test_snapshots_are_of_what_stays(snapshot: SnapshotAssertion) -> None:
    code = {"S3Bucket": "assets", "S3Key": f"{'0a' * 32}.zip"}
    resources = {
        "ACurrentVersion01234567" + "f" * 32: {"Type": "AWS::Lambda::Version"},
        "A": {"Type": "AWS::Lambda::Function", "Properties": {"Code": code}},
    }
    assert {"Resources": resources} == snapshot.use_extension(TemplateSnapshotExtension)


class TestAssertions:
    def test_what_was_found_is_returned(self, three: Deployment) -> None:
        found = assert_workflow(Template.from_stack(three.stack), "Flow", functions=[*"ABC"], edges=EDGES, start="A")
        assert found.functions == {key: three.logical_id(key) for key in "ABC"}
        assert found.table == three.logical_id("Flow/Table")
        assert list(found.start_aliases) == [three.logical_id("Flow/Start")]

    def test_container_images_are_functions_as_all_others(self, three: Deployment) -> None:
        template = copy.deepcopy(three.template)
        properties = template["Resources"][three.logical_id("B")]["Properties"]
        command = {"Command": [properties.pop("Handler")]}
        properties |= {"PackageType": "Image", "ImageConfig": command}
        strange = {"Type": "AWS::Lambda::Function", "Properties": {"PackageType": "Image"}}
        template["Resources"]["Strange"] = strange
        assert_workflow(template, functions=[*"ABC"], edges=EDGES)

    def test_an_entry_of_its_own(self, fan_out: Deployment) -> None:
        edges = {"$entry": ["A", "C"], "A": ["B"], "B": ["A", "C"]}
        assert_workflow(fan_out.template, functions=["$entry", "A", "B", "C"], edges=edges, start="$entry")

    def test_functions_that_wait_invoke_themselves(self) -> None:
        definition = chain("A", "B")
        definition["States"]["A"]["Retry"] = [{"ErrorEquals": ["States.ALL"]}]
        assert_workflow(Deployment.of(definition, "A", "B").template, edges={"A": ["A", "B"], "B": []})

    def test_functions_that_open_narrow_maps_do_not_invoke_themselves(self) -> None:
        narrow = {**a_map(chain("A", "B"), then="C"), "MaxConcurrency": 1_000}
        template = Deployment.of(machine(M=narrow, C=task("C")), "A", "B", "C").template
        assert_workflow(template, edges={"$entry": ["A", "C"], "A": ["B"], "B": ["A", "C"]})

    @pytest.mark.parametrize(
        ("expected", "message"),
        [
            ({"functions": ["A", "B"]}, "functions: missing [], unexpected ['C']"),
            ({"functions": ["A", "B", "C", "D"]}, "functions: missing ['D'], unexpected []"),
            ({"edges": {"A": ["C"], "B": ["C"]}}, "edges['A']: missing ['C'], unexpected ['B']"),
            ({"edges": {"A": ["B"]}}, "edges['B']: missing [], unexpected ['C']"),
            ({"edges": {**EDGES, "Z": []}}, "edges: expected a function 'Z', there is none"),
            ({"start": "B"}, "start: expected 'B', got ['A']"),
            ({"table": "Mine"}, "table: expected 'Mine'"),
            ({"workflow_name": "Other"}, "expected the workflow 'Other', the template has Flow"),
        ],
    )
    def test_differences_are_named(self, three: Deployment, expected: dict[str, Any], message: str) -> None:
        with pytest.raises(AssertionError) as failed:
            assert_workflow(three.template, **expected)
        assert message in str(failed.value)

    def test_a_missing_permission_is_noticed(self, three: Deployment) -> None:
        template = copy.deepcopy(three.template)
        policy = template["Resources"][three.logical_id("Flow/Permissions/A")]
        policy["Properties"]["PolicyDocument"]["Statement"] = policy["Properties"]["PolicyDocument"]["Statement"][1:]
        with pytest.raises(AssertionError, match=r"edges\['A'\]: missing \['B'\]"):
            assert_workflow(template, edges=EDGES)

    def test_a_missing_start_alias_is_noticed(self, three: Deployment) -> None:
        template = copy.deepcopy(three.template)
        del template["Resources"][three.logical_id("Flow/Start")]
        with pytest.raises(AssertionError, match="expected one start alias"):
            assert_workflow(template)

    def test_two_tables_are_noticed(self, three: Deployment) -> None:
        template = copy.deepcopy(three.template)
        variables = template["Resources"][three.logical_id("B")]["Properties"]["Environment"]["Variables"]
        variables["UNUM_WORKFLOWS"] = json.dumps({"Flow": {"table": "Another", "hosts": ["B"]}})
        with pytest.raises(AssertionError, match="expected one table, found"):
            assert_workflow(template)

    def test_several_workflows_are_told_apart_by_name(self) -> None:
        deployment = Deployment.new()
        both = {key: function(deployment.stack, key) for key in "AB"}
        deployment.flow(chain("A", "B"), both, "One")
        deployment.flow(chain("B", "A"), both, "Two")
        with pytest.raises(AssertionError, match="expected one workflow, the template has One, Two"):
            assert_workflow(deployment.template)
        assert WorkflowResources.find(deployment.template, "Two").start_aliases.keys() == {
            deployment.logical_id("Two/Start")
        }


def _without_code(template: dict[str, Any]) -> dict[str, Any]:
    for resource in template["Resources"].values():
        resource.get("Properties", {}).pop("Code", None)
    return template


@pytest.mark.parametrize("given", [None, "template.json", Stack])
def test_what_is_no_template(given: Any) -> None:
    for look in (assert_workflow, normalize_template):
        with pytest.raises(TypeError, match=r"^expected an aws_cdk.assertions.Template, or a template as JSON, got "):
            look(given)


def test_a_text_is_no_collection_of_keys() -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B")
    with pytest.raises(
        TypeError, match=r"^edges\['A'\]: expected a collection of keys, got the text 'B'; write \['B'\]"
    ):
        assert_workflow(deployment.template, edges={"A": "B"})
    with pytest.raises(TypeError, match=r"^functions: expected a collection of keys, got the text 'AB'"):
        assert_workflow(deployment.template, functions="AB")
