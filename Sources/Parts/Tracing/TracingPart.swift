import EventLoop
package import Program
import Queue
package import Worker

/// The export of traces to a collector of OpenTelemetry, with its settings: docs/watching.md.
package enum TracingPart: Part {
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
