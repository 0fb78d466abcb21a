# The workflow "orders" on Google Cloud: two functions and one for sweeps, a queue for each, and a Firestore database.
#
#   unum compile --json --name orders workflow.asl.json > functions/orders.json
#   terraform init && terraform apply -var project=my-project

terraform {
  required_version = ">= 1.5"
  required_providers {
    archive = {
      source  = "hashicorp/archive"
      version = "~> 2.4"
    }
    google = {
      source  = "hashicorp/google"
      version = ">= 6.0"
    }
  }
}

variable "project" {
  type        = string
  description = "Project in which everything is made."
}

variable "region" {
  type        = string
  description = "Region of functions, queues and database."
  default     = "us-central1"
}

variable "starters" {
  type        = set(string)
  description = "Emails of service accounts that may start executions."
  default     = []
}

locals {
  handlers = {
    split = { Split = "orders.split", Total = "orders.total" }
    price = { Price = "orders.price" }
    # Runs no user code, so that it lives when the others die.
    recovery = {}
  }
  # The name of a Cloud Run service decides its URL, so each function can know all of them beforehand.
  urls = { for name, _ in local.handlers : name => "https://orders-${name}-${data.google_project.this.number}.${var.region}.run.app" }
  apis = ["cloudbuild", "cloudfunctions", "cloudscheduler", "cloudtasks", "firestore", "run"]
}

provider "google" {
  project = var.project
  region  = var.region
}

data "google_project" "this" {}

resource "google_project_service" "apis" {
  for_each           = toset(local.apis)
  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false
}

resource "google_firestore_database" "state" {
  name        = "orders"
  location_id = var.region
  type        = "FIRESTORE_NATIVE"
  depends_on  = [google_project_service.apis]
}

# Deletes what has expired, and leaves the time out of the indexes, in which it would only grow.
resource "google_firestore_field" "expiry" {
  for_each   = toset(["unum_items", "unum_listed"])
  database   = google_firestore_database.state.name
  collection = each.key
  field      = "expires_at"
  ttl_config {}
  index_config {}
}

resource "google_firestore_field" "content" {
  for_each   = { for pair in setproduct(["unum_items", "unum_listed"], ["item", "members"]) : join(".", pair) => pair }
  database   = google_firestore_database.state.name
  collection = each.value[0]
  field      = each.value[1]
  index_config {}
}

# All functions of the workflow run as this account, and its tokens alone carry events.
resource "google_service_account" "workflow" {
  account_id   = "orders-workflow"
  display_name = "Functions of the workflow orders"
}

resource "google_project_iam_member" "state" {
  project = var.project
  role    = "roles/datastore.user"
  member  = google_service_account.workflow.member
  condition {
    title      = "orders-database"
    expression = "resource.name == \"projects/${var.project}/databases/${google_firestore_database.state.name}\""
  }
}

resource "google_cloud_tasks_queue" "events" {
  for_each   = local.handlers
  name       = "orders-${each.key}"
  location   = var.region
  depends_on = [google_project_service.apis]

  # Cloud Tasks drops an event once both limits are reached. The sweep below gives up later.
  retry_config {
    max_attempts       = 10
    max_retry_duration = "21600s"
    min_backoff        = "0.1s"
    max_backoff        = "60s"
  }
}

resource "google_cloud_tasks_queue_iam_member" "sender" {
  for_each = local.handlers
  name     = google_cloud_tasks_queue.events[each.key].id
  role     = "roles/cloudtasks.enqueuer"
  member   = google_service_account.workflow.member
}

# Whoever creates a task with a token of this account must be allowed to act as it.
resource "google_service_account_iam_member" "tokens" {
  service_account_id = google_service_account.workflow.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.workflow.member
}

resource "google_storage_bucket" "code" {
  name                        = "${var.project}-orders-code"
  location                    = var.region
  uniform_bucket_level_access = true
}

data "archive_file" "code" {
  type        = "zip"
  source_dir  = "${path.module}/functions"
  output_path = "${path.module}/functions.zip"
}

resource "google_storage_bucket_object" "code" {
  bucket = google_storage_bucket.code.name
  name   = "${data.archive_file.code.output_sha256}.zip"
  source = data.archive_file.code.output_path
}

resource "google_cloudfunctions2_function" "functions" {
  for_each = local.handlers
  name     = "orders-${each.key}"
  location = var.region

  build_config {
    runtime     = "python313"
    entry_point = "handle"
    source {
      storage_source {
        bucket = google_storage_bucket.code.name
        object = google_storage_bucket_object.code.name
      }
    }
  }

  service_config {
    service_account_email = google_service_account.workflow.email
    available_memory      = "512M"
    timeout_seconds       = 540
    # A function that dies takes the other requests of its instance along.
    max_instance_request_concurrency = 1
    environment_variables = {
      UNUM_SERVICE = jsonencode({
        definition = "orders.json"
        project    = var.project
        database   = google_firestore_database.state.name
        hosts      = each.value
        routes     = merge([for name, keys in local.handlers : { for key, _ in keys : key => local.urls[name] }]...)
        address    = local.urls[each.key]
        queues     = { for name, url in local.urls : url => google_cloud_tasks_queue.events[name].id }
        account    = google_service_account.workflow.email
        starters   = var.starters
      })
    }
  }
}

# Sends lost events again, and fails Tasks whose events were dropped.
resource "google_cloud_scheduler_job" "sweep" {
  name             = "orders-sweep"
  region           = var.region
  schedule         = "*/15 * * * *"
  attempt_deadline = "1800s"
  depends_on       = [google_project_service.apis]

  http_target {
    uri         = "${local.urls["recovery"]}/sweep"
    http_method = "POST"
    headers     = { "Content-Type" = "application/json" }
    body        = base64encode(jsonencode({ silent_s = 3600, give_up_s = 25200 }))
    oidc_token {
      service_account_email = google_service_account.workflow.email
      audience              = local.urls["recovery"]
    }
  }
}

# Nobody else may call a function at all. Each function checks itself what a caller may do there.
resource "google_cloud_run_service_iam_member" "events" {
  for_each = local.handlers
  location = var.region
  service  = google_cloudfunctions2_function.functions[each.key].name
  role     = "roles/run.invoker"
  member   = google_service_account.workflow.member
}

resource "google_cloud_run_service_iam_member" "starters" {
  for_each = var.starters
  location = var.region
  service  = google_cloudfunctions2_function.functions["split"].name
  role     = "roles/run.invoker"
  member   = "serviceAccount:${each.key}"
}

output "start" {
  value       = "${local.urls["split"]}/start"
  description = "URL to which starters post name and input."
}
