import Telemetry

extension Gateway {
  /// The totals, read when they are asked for.
  func register(in metrics: Metrics) {
    metrics.gauge("apns_simulator_pushes", labels: ["status"], help: "Pushes processed, by status") { [unowned self] in
      [(["200"], Double(ledger.accepted))] + ledger.byStatus.map { ([String($0.key)], Double($0.value)) }
    }
    metrics.gauge("apns_simulator_duplicates", help: "Pushes accepted again") { [unowned self] in
      ledger.duplicates
    }
    metrics.gauge("apns_simulator_connections", help: "Open connections") { [unowned self] in
      openConnections
    }
  }
}
