"""Items from S3. Sources: the developer guide, "ItemReader (Map)" and "Parsing input CSV files"; RFC 6901."""

import gzip
import json
from typing import Any

import pytest

from tests.unit.items.conftest import BUCKET, Put
from unum_runtime.asl.item_sources import item_fields
from unum_runtime.features import data_sets as items
from unum_runtime.features.data_sets.config import ItemReaderFailed
from unum_runtime.model.states import Json

GET = "arn:aws:states:::s3:getObject"
LIST = "arn:aws:states:::s3:listObjectsV2"


def read(s3: Any, key: str, **config: Json) -> list[Json]:
    arguments = {"Resource": GET, "Parameters": {"Bucket": BUCKET, "Key": key}, "ReaderConfig": config}
    return items.read(arguments, client=s3)


def read_list(s3: Any, parameters: dict[str, Json], **config: Json) -> list[Json]:
    return items.read({"Resource": LIST, "Parameters": parameters, "ReaderConfig": config}, client=s3)


def sources(s3: Any, key: str | None = None, **config: Json) -> Json:
    given = {"Bucket": BUCKET} if key is None else {"Bucket": BUCKET, "Key": key}
    resource = LIST if key is None else GET
    arguments = {"Resource": resource, "Parameters": given, "ReaderConfig": config, "Sources": True}
    return items.read(arguments, client=s3)["Sources"]


def test_items_of_one_object_and_of_many_have_its_uri_as_source(s3: Any, put: Put) -> None:
    put("a/1.json", "[1, 2]")
    put("a/2.json", "[3]")
    assert sources(s3, "a/1.json", InputType="JSON") == [[f"S3://{BUCKET}/a/1.json", 2]]
    assert sources(s3) == [[f"S3://{BUCKET}", 2]]
    loaded = {"InputType": "JSON", "Transformation": "LOAD_AND_FLATTEN"}
    assert sources(s3, **loaded) == [[f"S3://{BUCKET}/a/1.json", 2], [f"S3://{BUCKET}/a/2.json", 1]]
    assert sources(s3, MaxItems=1, **loaded) == [[f"S3://{BUCKET}/a/1.json", 1]]


def test_the_first_row_of_csv_names_the_columns(s3: Any, put: Put) -> None:
    put("ratings.csv", "user,film\n1,307\n2,481\n")
    found = read(s3, "ratings.csv", InputType="CSV", CSVHeaderLocation="FIRST_ROW")
    assert found == [{"user": "1", "film": "307"}, {"user": "2", "film": "481"}]


def test_columns_may_be_named_by_the_definition(s3: Any, put: Put) -> None:
    put("ratings.csv", "1,307\n")
    found = read(s3, "ratings.csv", InputType="CSV", CSVHeaderLocation="GIVEN", CSVHeaders=["user", "film"])
    assert found == [{"user": "1", "film": "307"}]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("1", {"a": "1", "b": ""}),
        ("1,2,3", {"a": "1", "b": "2"}),
        (",", {"a": "", "b": ""}),
        ('"1,5","two\nlines"', {"a": "1,5", "b": "two\nlines"}),
        ('"say ""yes""",2', {"a": 'say "yes"', "b": "2"}),
        (r"1\,5,C:\\Programs", {"a": "1,5", "b": r"C:\Programs"}),
        (r"\a\b,2", {"a": "ab", "b": "2"}),
        (" ö ,ü", {"a": " ö ", "b": "ü"}),
    ],
)
def test_fields_of_csv(s3: Any, put: Put, row: str, found: Json) -> None:
    put("rows.csv", f"a,b\r\n{row}\r\n\r\n")
    assert read(s3, "rows.csv", InputType="CSV", CSVHeaderLocation="FIRST_ROW") == [found]


@pytest.mark.parametrize(
    ("name", "separator"), [("COMMA", ","), ("PIPE", "|"), ("SEMICOLON", ";"), ("SPACE", " "), ("TAB", "\t")]
)
def test_delimiters_of_csv(s3: Any, put: Put, name: str, separator: str) -> None:
    put("rows.csv", f"a{separator}b\n1{separator}2\n")
    assert read(s3, "rows.csv", InputType="CSV", CSVDelimiter=name) == [{"a": "1", "b": "2"}]


def test_a_byte_order_mark_is_no_part_of_the_first_name(s3: Any, put: Put) -> None:
    put("rows.csv", "a\n1\n".encode("utf-8-sig"))
    assert read(s3, "rows.csv", InputType="CSV") == [{"a": "1"}]


def test_an_empty_file_has_no_items(s3: Any, put: Put) -> None:
    put("rows.csv", "")
    assert read(s3, "rows.csv", InputType="CSV") == []


def test_json_is_an_array(s3: Any, put: Put) -> None:
    put("all.json", '[1, "two", {"three": 3}, null]')
    assert read(s3, "all.json", InputType="JSON") == [1, "two", {"three": 3}, None]


@pytest.mark.parametrize("pointer", ["/data/0/a~1b~0c", ""])
def test_a_pointer_leads_to_the_array(s3: Any, put: Put, pointer: str) -> None:
    inside = {"data": [{"a/b~c": [1, 2]}]}
    put("all.json", json.dumps(inside if pointer else [1, 2]))
    assert read(s3, "all.json", InputType="JSON", ItemsPointer=pointer) == [1, 2]


def test_each_line_of_jsonl_is_an_item(s3: Any, put: Put) -> None:
    put("all.jsonl", '{"a": 1}\n\n  \n"two\u2028lines"\n3')
    assert read(s3, "all.jsonl", InputType="JSONL") == [{"a": 1}, "two\u2028lines", 3]


@pytest.mark.parametrize("kind", ["CSV", "JSON", "JSONL"])
def test_what_gzip_has_compressed_is_decompressed(s3: Any, put: Put, kind: str) -> None:
    text = {"CSV": "a\n1\n", "JSON": '[{"a": "1"}]', "JSONL": '{"a": "1"}\n'}[kind]
    put("all.gz", gzip.compress(text.encode()))
    assert read(s3, "all.gz", InputType=kind) == [{"a": "1"}]


@pytest.mark.parametrize(("most", "count"), [(2, 2), (0, 3), (100_000_001, 3), (None, 3)])
def test_max_items(s3: Any, put: Put, most: int | None, count: int) -> None:
    put("all.json", "[1, 2, 3]")
    assert len(read(s3, "all.json", InputType="JSON", MaxItems=most)) == count


def test_no_more_is_read_than_max_items_asks_for(s3: Any, put: Put) -> None:
    put("all.jsonl", '{"a": 1}\nno JSON\n')
    assert read(s3, "all.jsonl", InputType="JSONL", MaxItems=1) == [{"a": 1}]


def test_objects_are_listed_page_by_page(s3: Any, put: Put) -> None:
    for index in range(5):
        put(f"in/{index}.txt", f"{index}")
    put("out/9.txt", "")
    found = read_list(s3, {"Bucket": BUCKET, "Prefix": "in/", "MaxKeys": 2})
    assert [item["Key"] for item in found] == [f"in/{index}.txt" for index in range(5)]
    assert found[0].keys() == {"Etag", "Key", "LastModified", "Size", "StorageClass"}
    assert found[0]["Etag"] == '"cfcd208495d565ef66e7dff9f98764da"'
    assert isinstance(found[0]["LastModified"], int)
    assert (found[0]["Size"], found[0]["StorageClass"]) == (1, "STANDARD")


def test_an_empty_prefix_has_no_items(s3: Any) -> None:
    assert read_list(s3, {"Bucket": BUCKET, "Prefix": "nothing/"}) == []


def test_the_content_of_listed_objects_can_be_loaded(s3: Any, put: Put) -> None:
    put("in/", "")
    put("in/a.json", "[1, 2]")
    put("in/b.json", "[3, 4]")
    found = read_list(s3, {"Bucket": BUCKET}, InputType="JSON", Transformation="LOAD_AND_FLATTEN", MaxItems=3)
    assert found == [1, 2, 3]


def test_an_inventory_names_its_columns_and_its_files(s3: Any, put: Put) -> None:
    s3.create_bucket(Bucket="inventories")
    manifest = {
        "sourceBucket": "pictures",
        "destinationBucket": "arn:aws:s3:::inventories",
        "fileFormat": "CSV",
        "fileSchema": "Bucket, Key, Size",
        "files": [{"key": "data/1.csv.gz", "size": 40}, {"key": "data/2.csv.gz", "size": 40}],
    }
    put("manifest.json", json.dumps(manifest))
    for name, row in (("1", '"pictures","a+b.png","12"\n'), ("2", '"pictures","c.png","0"\n')):
        s3.put_object(Bucket="inventories", Key=f"data/{name}.csv.gz", Body=gzip.compress(row.encode()))
    expected = [
        {"Bucket": "pictures", "Key": "a+b.png", "Size": "12"},
        {"Bucket": "pictures", "Key": "c.png", "Size": "0"},
    ]
    assert read(s3, "manifest.json", InputType="MANIFEST") == expected
    assert read(s3, "manifest.json", ManifestType="S3_INVENTORY", MaxItems=1) == expected[:1]
    assert sources(s3, "manifest.json", ManifestType="S3_INVENTORY") == [
        ["S3://inventories/data/1.csv.gz", 1],
        ["S3://inventories/data/2.csv.gz", 1],
    ]


def test_a_manifest_of_athena_names_files(s3: Any, put: Put) -> None:
    put("query-manifest.csv", f"s3://{BUCKET}/unloaded/1.gz\ns3://{BUCKET}/unloaded/2\n")
    put("unloaded/1.gz", gzip.compress(b'{"a": 1}\n{"a": 2}\n'))
    put("unloaded/2", '{"a": 3}\n')
    found = read(s3, "query-manifest.csv", ManifestType="ATHENA_DATA", InputType="JSONL")
    assert found == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert sources(s3, "query-manifest.csv", ManifestType="ATHENA_DATA", InputType="JSONL") == [
        [f"S3://{BUCKET}/unloaded/1.gz", 2],
        [f"S3://{BUCKET}/unloaded/2", 1],
    ]


@pytest.mark.parametrize(
    ("body", "config", "cause"),
    [
        ("1", {"InputType": "JSON"}, "Attempting to map over non-iterable node"),
        ("[1", {"InputType": "JSON"}, "s3://data/it: Expecting"),
        ("[NaN]", {"InputType": "JSON"}, "NaN is not JSON"),
        ('{"a": []}', {"InputType": "JSON", "ItemsPointer": "/b"}, "no 'b'"),
        ("[[1]]", {"InputType": "JSON", "ItemsPointer": "/0/1"}, "no '1'"),
        ("[]", {"InputType": "JSON", "ItemsPointer": "b"}, "expected a JSON pointer"),
        ("no", {"InputType": "JSONL"}, "s3://data/it: Expecting value"),
        (b"a\n\xff\n", {"InputType": "CSV"}, "can't decode byte"),
        (b"\x1f\x8bno", {"InputType": "CSV"}, "s3://data/it"),
        (b"\x28\xb5\x2f\xfd...", {"InputType": "CSV"}, "Zstandard"),
        ("a\n1", {"InputType": "CSV", "CSVHeaderLocation": "GIVEN"}, "CSVHeaders: expected an array of strings"),
        ("a,b,a\n1,2,3", {"InputType": "CSV"}, 'expected different column names, got "a" more than once'),
        ("a,,\n1,2,3", {"InputType": "CSV"}, 'expected different column names, got "" more than once'),
        (
            "1,2",
            {"InputType": "CSV", "CSVHeaders": ["a", "a"]},
            'expected different column names, got "a" more than once',
        ),
        ("a\n1", {"InputType": "CSV", "CSVDelimiter": ","}, "CSVDelimiter: expected one of COMMA"),
        ("[]", {}, "InputType is missing"),
        ("[]", {"InputType": "PARQUET"}, "expected a Parquet file"),
        ("[]", {"InputType": "XML"}, "InputType: expected one of CSV, JSON, JSONL, PARQUET, MANIFEST"),
        ("[]", {"InputType": "JSON", "MaxItems": -1}, "field MaxItems must be positive"),
        ("[]", {"InputType": "JSON", "MaxItems": "two"}, "MaxItems: expected an integer"),
        ("[]", {"InputType": "MANIFEST"}, "expected the manifest.json of an S3 inventory"),
        ('{"fileSchema": "", "files": [], "fileFormat": "ORC"}', {"InputType": "MANIFEST"}, "inventory in ORC"),
        ('{"fileSchema": "", "files": [{}]}', {"InputType": "MANIFEST"}, "expected a file with its key"),
        ("https://x", {"ManifestType": "ATHENA_DATA", "InputType": "CSV"}, "expected a manifest of Athena"),
    ],
)
def test_what_cannot_be_read_fails_the_reader(s3: Any, put: Put, body: str, config: Json, cause: str) -> None:
    put("it", body)
    with pytest.raises(ItemReaderFailed) as caught:
        read(s3, "it", **config)
    assert caught.value.error == "States.ItemReaderFailed"
    assert cause in caught.value.cause


@pytest.mark.parametrize(
    ("resource", "parameters", "cause"),
    [
        (GET, {"Bucket": BUCKET, "Key": "nowhere"}, "s3://data/nowhere"),
        (GET, {"Bucket": "nowhere", "Key": "it"}, "NoSuchBucket"),
        (GET, {"Bucket": BUCKET}, "Key is missing"),
        (GET, {"Bucket": BUCKET, "Key": "it", "Path": "/"}, "there is no Path"),
        (LIST, {"Bucket": "nowhere"}, "s3://nowhere: "),
        (GET, "data/it", "expected an object with the parameters"),
        (LIST, {}, "ListObjectsV2 with nothing: Bucket is missing"),
    ],
)
def test_what_is_not_there_fails_the_reader(s3: Any, resource: str, parameters: Json, cause: str) -> None:
    with pytest.raises(ItemReaderFailed) as caught:
        items.read({"Resource": resource, "Parameters": parameters, "ReaderConfig": {"InputType": "CSV"}}, client=s3)
    assert cause in caught.value.cause


@pytest.mark.parametrize(
    ("content", "config"),
    [
        ("1\n" * 300_000, {"InputType": "JSONL"}),
        ("a\n" + "1\n" * 300_000, {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}),
        (f"[{'1,' * 300_000}1]", {"InputType": "JSON"}),
    ],
)
def test_a_small_archive_of_many_items_is_refused(
    s3: Any, put: Put, monkeypatch: pytest.MonkeyPatch, content: str, config: dict[str, Json]
) -> None:
    put("items.gz", gzip.compress(content.encode()))
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
    with pytest.raises(ItemReaderFailed, match="at most 128000 items in a function with 128 MB, got more"):
        read(s3, "items.gz", **config)
    assert len(read(s3, "items.gz", **config, MaxItems=128_000)) == 128_000
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
    assert len(read(s3, "items.gz", **config)) >= 300_000


@pytest.mark.parametrize("kind", ["JSON", "JSONL", "CSV"])
def test_a_small_archive_of_many_bytes_is_refused(
    s3: Any, put: Put, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    put("items.gz", gzip.compress(b'["' + b"x" * 20_000_000 + b'"]'))
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
    with pytest.raises(ItemReaderFailed, match="at most 16 MB of data in a function with 128 MB, got more"):
        read(s3, "items.gz", InputType=kind)


@pytest.mark.parametrize("given", [True, False])
def test_long_headers_are_refused(s3: Any, put: Put, given: bool) -> None:  # noqa: FBT001 - a case of its table
    names = [f"h{number}" for number in range(200_000)]
    put("rows.csv", "1\n" * 10 if given else ",".join(names) + "\n1\n")
    with pytest.raises(ItemReaderFailed, match="CSV header: expected at most 10240 characters, got 1288890"):
        read(s3, "rows.csv", InputType="CSV", **({"CSVHeaders": names} if given else {}))


def test_fields_of_an_object_are_items(s3: Any, put: Put) -> None:
    put("fields.json", '{"data": {"a": {"x": 1}, "b": 2}}')
    found: Any = read(s3, "fields.json", InputType="JSON", ItemsPointer="/data")
    assert found["Items"] == [{"Key": "a", "Value": {"x": 1}}, {"Key": "b", "Value": 2}]
    assert item_fields(found) == found["Items"]


def test_items_with_keys_are_no_fields(s3: Any, put: Put) -> None:
    item = {"Key": "a", "Value": 1}
    put("all.json", json.dumps([item]))
    assert item_fields(read(s3, "all.json", InputType="JSON")) == [{"Value": item}]
