import EventLoop
import Telemetry

/// What the clients of a process share.
@EventLoop
struct ClientParts {
  let instruments: ClientInstruments
  let refusals: RefusalLog
  let ends: ConnectionEnds
  let log: Log

  /// Registers metrics named `martlet_apns_…`.
  init(metrics: Metrics, log: Log) {
    instruments = ClientInstruments(metrics: metrics)
    refusals = RefusalLog(log: log)
    ends = ConnectionEnds(metrics: metrics, log: log)
    self.log = log
  }
}
