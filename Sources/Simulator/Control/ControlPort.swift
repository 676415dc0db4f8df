import EventLoop
import FoundationEssentials
import HTTPServer
import Telemetry

/// The ledger, the devices, the faults and the settings, over HTTP and in JSON.
@EventLoop
final class ControlPort {
  private static let maximumBody = 1 << 20

  private let gateway: Gateway
  private let metrics: Metrics
  private var server: HTTPServer?
  private let configuration: HTTPServerConfiguration
  private let log: Log

  init(gateway: Gateway, address: HTTPAddress, log: Log) {
    self.gateway = gateway
    self.log = log
    metrics = Metrics()
    var configuration = HTTPServerConfiguration(address: address)
    configuration.maximumBodyBytes = ControlPort.maximumBody
    self.configuration = configuration
    gateway.register(in: metrics)
  }

  var port: Int { server?.port ?? 0 }

  func start() throws(HTTPServerError) {
    let server = HTTPServer(configuration: configuration, log: log) { [unowned self] request, reply in
      reply(answer(request))
    }
    try server.start()
    self.server = server
  }

  /// The answer to one request.
  func answer(_ request: HTTPRequest) -> HTTPResponse {
    do {
      return try route(request)
    } catch let error as ControlError {
      return ControlPort.failure(error.description, status: 400)
    } catch {
      return ControlPort.failure("the body is not what this route takes: \(error)", status: 400)
    }
  }

  private func route(_ request: HTTPRequest) throws -> HTTPResponse {
    switch (request.method, request.path) {
    case ("GET", "/healthz"): return .text("ok\n")
    case ("GET", "/metrics"): return .text(metrics.prometheusText())
    case ("GET", "/ledger"): return try json(LedgerReport(gateway))
    case ("GET", "/ledger/ids"): return .text(idLines())
    case ("GET", "/ledger/recent"):
      let count = request.queryValue("n").flatMap { Int($0) } ?? Ledger.recentLimit
      return try json(gateway.ledger.recent(count).map(PushReport.init))
    case ("GET", let path) where path.hasPrefix("/ledger/id/"):
      return try entry(String(path.dropFirst("/ledger/id/".count)))
    case ("POST", "/ledger/reset"): gateway.resetCounts()
    case ("POST", "/devices"):
      for command in try DeviceCommand.list(request.body) { try apply(command) }
    case ("DELETE", "/devices"):
      if let token = request.queryValue("token") { gateway.devices.remove(token) } else { gateway.devices.removeAll() }
    case ("GET", "/faults"): return try json(gateway.faults.faults.map(FaultReport.init))
    case ("POST", "/faults"):
      let command = try FaultCommand(parsing: request.body)
      try gateway.changeFaults { try command.apply(to: &$0) }
    case ("DELETE", "/faults"): gateway.changeFaults { $0.removeAll() }
    case ("POST", "/settings"):
      try SettingsCommand(parsing: request.body).apply(to: gateway)
    case ("POST", "/connections/close"): gateway.closeConnections()
    default: return ControlPort.failure("no such route: \(request.method) \(request.path)", status: 404)
    }
    return .json(Array(#"{"ok":true}"#.utf8))
  }

  private func apply(_ command: DeviceCommand) throws(ControlError) {
    if let rule = try command.deviceRule {
      gateway.devices.set(rule, for: command.token)
    } else {
      gateway.devices.remove(command.token)
    }
  }

  private func entry(_ text: String) throws -> HTTPResponse {
    guard let id = PushID(Array(text.utf8)[...]) else { throw ControlError("\(text) is no apns-id") }
    let entry = gateway.ledger.ids[id]
    return try json(IDReport(id: id.text, count: Int(entry?.count ?? 0), arrival: entry?.arrival))
  }

  /// `apns-id count arrival` per line.
  private func idLines() -> String {
    var lines = ""
    for entry in gateway.ledger.ids.entries { lines += "\(entry.id.text) \(entry.count) \(entry.arrival)\n" }
    return lines
  }

  private func json(_ value: some Encodable) throws -> HTTPResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return .json(Array(try encoder.encode(value)))
  }

  private static func failure(_ message: String, status: Int) -> HTTPResponse {
    do {
      return .json(Array(try JSONEncoder().encode(["error": message])), status: status)
    } catch {
      return .text("\(message)\n", status: status)
    }
  }
}
