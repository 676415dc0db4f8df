package import APNs
package import EventLoop
package import Jobs
package import Registry
package import Telemetry

/// Sends without a job: what the sidecar's test push travels on.
@EventLoop
package struct DirectDelivery {
  package let client: APNsClient
  package let registry: Registry
  package let composer: PushComposer
  package let log: Log

  package init(client: APNsClient, registry: Registry, composer: PushComposer, log: Log) {
    self.client = client
    self.registry = registry
    self.composer = composer
    self.log = log
  }

  package var isConnected: Bool { client.isServing }

  package func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport {
    let run = DirectAttempt(payload, devices, client: client, composer: composer)
    let ended = await run.end(concurrency: concurrency)
    guard !ended.stale.isEmpty else { return DirectReport(results: ended.results, staleRemoved: 0) }
    let removed = await withCheckedContinuation { continuation in
      registry.removeStale(ended.stale) { continuation.resume(returning: $0) }
    }
    switch removed {
    case .success(let count): return DirectReport(results: ended.results, staleRemoved: count)
    case .failure(let error):
      // What was sent was sent; the next push finds the token stale again.
      log.warn("stale tokens could not be removed", ["error": .init("\(error)")])
      return DirectReport(results: ended.results, staleRemoved: 0)
    }
  }
}
