import HTTPClient
import HTTPServer
import Program
import Usage
import Worker

/// `martlet health`: asks a running service on its admin port. Made for images that hold no other HTTP client.
enum HealthCommand: Command {
  static let usage = CommandUsage(
    "martlet health", "ask a running service whether it works", [],
    [
      .init(
        "address", .text("HOST:PORT"),
        """
        the admin port; default: MARTLET_ADMIN_ADDRESS, then \(WorkerSettings.defaultAdminAddress), the worker's (a sidecar's \
        is \(SidecarSettings.defaultAdminAddress), a dashboard's \(DashboardSettings.defaultAdminAddress))
        """),
      .init("ready", "ask for /readyz: whether jobs and requests can be served, not only whether the process answers"),
    ],
    text: """
      Asks the admin port of a worker, sidecar or dashboard on this machine for /healthz, and prints the answer. For an
      address of all interfaces, this machine is asked.

      Exit code 0 if the status is 200, 1 if it is not or if there is no answer within 2 seconds.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let setting = EnvironmentReader(environment.values).string(Setting.adminAddress.name)
    let text = line.value("address") ?? setting ?? "\(WorkerSettings.defaultAdminAddress)"
    guard text.lowercased() != "off" else {
      throw CommandError.failed("\(Setting.adminAddress.name) is off: nothing can be asked")
    }
    let address: HTTPAddress
    do {
      address = try HTTPAddress(parsing: text)
    } catch {
      throw CommandError.usage("\(error)")
    }
    let path = line.has("ready") ? "/readyz" : "/healthz"
    let answer = try await ask(address, for: path)
    let body = String(decoding: answer.body, as: UTF8.self)
    Console.print(body.hasSuffix("\n") ? body : body + "\n")
    guard answer.status == 200 else {
      throw CommandError.failed("\(address) answers \(path) with status \(answer.status)")
    }
    return .done
  }

  private static let patience = Duration.seconds(2)

  private static func ask(_ address: HTTPAddress, for path: String) async throws(CommandError) -> HTTPAnswer {
    var call = HTTPCall(url: "http://localhost\(path)")
    call.isLocal = true
    call.method = .get
    call.timeout = patience
    switch address {
    case .unix(let path): call.socketPath = path
    case .tcp(let host, let port):
      let everywhere = ["": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"]
      call.url = "http://\(HTTPAddress.tcp(host: everywhere[host] ?? host, port: port))\(path)"
    }
    do throws(HTTPClientError) {
      return try await HTTPClient(label: "martlet.health").send(call)
    } catch {
      throw .failed("nothing answers at \(address): \(error)")
    }
  }
}
