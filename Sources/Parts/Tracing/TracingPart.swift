import EventLoop
package import Program
import Queue
package import Worker

/// The export of traces to a collector of OpenTelemetry, with its settings: docs/watching.md.
package enum TracingPart: Part {
  package static let settings = [endpoint, headers, serviceName, ratio]

  static let endpoint = Setting(
    "OTEL_EXPORTER_OTLP_ENDPOINT", in: .traces, as: .url,
    """
    `http://host:4318` or `https://…`: the OpenTelemetry collector; spans go to `/v1/traces` below it. Without \
    it none are sent.
    """,
    example: "http://127.0.0.1:4318",
    "The collector of OpenTelemetry that gets the spans of jobs, by OTLP/HTTP.")
  static let headers = Setting(
    "OTEL_EXPORTER_OTLP_HEADERS", in: .traces, as: .secret,
    "header fields of each request, `name=value,name=value`; values may have percent escapes",
    example: "",
    "Header fields for it: name=value, separated by commas.")
  static let serviceName = Setting(
    "OTEL_SERVICE_NAME", in: .traces,
    "default `martlet`",
    example: "martlet",
    "The name of the service in its spans.")
  static let ratio = Setting(
    "OTEL_TRACES_SAMPLER_ARG", in: .traces,
    "the share of jobs without a `trace` of their own that is recorded, 0 to 1; default 0",
    example: "0",
    "The share of jobs without a trace that get spans, 0 to 1.")

  package static func add(to worker: inout WorkerConfiguration, _ reader: inout EnvironmentReader) {
    let tracing = TracingSettings.read(&reader)
    worker.recorder = { context in
      let metrics = SpanMetrics(context.metrics)
      guard let tracing else { return nil }
      let exporter = SpanExporter(tracing, instance: context.queue.lease.name.value, metrics: metrics, log: context.log)
      return Tracer(tracing, queues: context.configuration.queues, exporter: exporter)
    }
  }
}
