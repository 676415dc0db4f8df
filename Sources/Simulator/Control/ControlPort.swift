import EventLoop
import HTTPServer
import JSON
import Telemetry

/// The HTTP interface to ledger, devices, Live Activities, channels, faults and settings, in JSON.
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

  /// Returns the response to a request.
  func answer(_ request: HTTPRequest) -> HTTPResponse {
    do throws(ControlError) {
      return try route(request)
    } catch {
      return failure(error.description, status: 400)
    }
  }

  private func route(_ request: HTTPRequest) throws(ControlError) -> HTTPResponse {
    switch (request.method, request.path) {
    case ("GET", "/healthz"): return .text("ok\n")
    case ("GET", "/metrics"): return .text(metrics.prometheusText())
    case ("GET", "/ledger"): return json(gateway.report)
    case ("GET", "/ledger/ids"): return .text(idLines())
    case ("GET", "/ledger/recent"):
      let count = request.queryValue("n").flatMap { Int($0) } ?? Ledger.recentLimit
      return json(gateway.ledger.recent(count).map(\.report))
    case ("GET", let path) where path.hasPrefix("/ledger/id/"):
      return try entry(String(path.dropFirst("/ledger/id/".count)))
    case ("GET", "/live-activities"): return json(gateway.liveDevices.report)
    case ("GET", "/channels"): return json(gateway.channels.report)
    case ("GET", "/faults"): return json(gateway.faults.faults.map(\.report))
    default: return try change(request)
    }
  }

  private func change(_ request: HTTPRequest) throws(ControlError) -> HTTPResponse {
    switch (request.method, request.path) {
    case ("POST", "/ledger/reset"): gateway.resetCounts()
    case ("POST", "/devices"):
      let now = Clock.unixMilliseconds
      let commands = try Command.list(request.body) { command throws(ControlError) in
        try DeviceCommand(&command, now: now)
      }
      for command in commands { command.apply(to: &gateway.devices) }
    case ("DELETE", "/devices"):
      if let token = request.queryValue("token") { gateway.devices.remove(token) } else { gateway.devices.removeAll() }
    case ("POST", "/live-activities"):
      let environment = gateway.settings.environment ?? .production
      let commands = try Command.list(request.body) { command throws(ControlError) in
        try LiveActivityCommand(&command, environment)
      }
      for command in commands { try command.apply(to: gateway, now: Clock.unixMilliseconds) }
    case ("DELETE", "/live-activities"): gateway.liveDevices.removeAll()
    case ("DELETE", "/channels"): gateway.channels = Channels()
    case ("POST", "/faults"):
      let command = try FaultCommand(parsing: request.body)
      gateway.changeFaults { command.apply(to: &$0) }
    case ("DELETE", "/faults"): gateway.changeFaults { $0.removeAll() }
    case ("POST", "/keys"):
      let commands = try Command.list(request.body, KeyCommand.init)
      gateway.verifier.changeKeys { keys in
        for command in commands { command.apply(to: &keys) }
      }
    case ("DELETE", "/keys"): gateway.verifier.changeKeys { $0.removeAll() }
    case ("POST", "/settings"): try SettingsCommand(parsing: request.body).apply(to: gateway)
    case ("POST", "/connections/close"): gateway.closeConnections()
    default: return failure("no such route: \(request.method) \(request.path)", status: 404)
    }
    return .json(Array(#"{"ok":true}"#.utf8))
  }

  private func entry(_ text: String) throws(ControlError) -> HTTPResponse {
    guard let id = PushID(Array(text.utf8)[...]) else { throw ControlError("\(text) is not an apns-id") }
    let entry = gateway.ledger.ids[id]
    return json(["id": id.text, "count": Int(entry?.count ?? 0), "arrival": entry?.arrival] as JSONObject)
  }

  /// One line `apns-id count arrival` per id.
  private func idLines() -> String {
    var lines = ""
    for entry in gateway.ledger.ids.entries { lines += "\(entry.id.text) \(entry.count) \(entry.arrival)\n" }
    return lines
  }

  private func failure(_ message: String, status: Int) -> HTTPResponse {
    json(["error": message] as JSONObject, status: status)
  }

  private func json(_ body: some JSONWritable, status: Int = 200) -> HTTPResponse {
    var writer = JSONWriter()
    body.write(to: &writer)
    return .json(writer.bytes, status: status)
  }
}
