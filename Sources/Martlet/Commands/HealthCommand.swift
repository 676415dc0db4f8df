import HTTPServer
import JSON
import Worker

#if canImport(Glibc)
  import Glibc
#endif

/// `martlet health`: asks a running service on its admin port. Made for images that hold no other HTTP client.
enum HealthCommand: Command {
  static let name = "health"
  static let summary = "ask a running service whether it works"
  static let help = """
    usage: martlet health [--ready] [--address HOST:PORT]

    Asks the admin port of a worker, sidecar or dashboard on this machine for /healthz, with --ready for /readyz, and prints
    the answer.

      --address HOST:PORT   the admin port; default MARTLET_ADMIN_ADDRESS, then \(WorkerSettings.defaultAdminAddress), the worker's (a sidecar's is
                            \(SidecarSettings.defaultAdminAddress), a dashboard's \(DashboardSettings.defaultAdminAddress)). For an address of all interfaces, this
                            machine is asked.
      --ready               whether jobs and requests can be served, not only whether the process answers

    Exit code 0 if the status is 200, 1 if it is not or if there is no answer within 2 seconds.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, options: ["address"], flags: ["ready"])
    try line.refuseArguments()
    let setting = EnvironmentReader(EnvironmentReader.processValues).string(AdminPort.setting)
    let text = line.value("address") ?? setting ?? "\(WorkerSettings.defaultAdminAddress)"
    guard text.lowercased() != "off" else {
      throw CommandError.failed("\(AdminPort.setting) is off: nothing can be asked")
    }
    let address: HTTPAddress
    do {
      address = try HTTPAddress(parsing: text)
    } catch {
      throw CommandError.usage("\(error)")
    }
    let path = line.has("ready") ? "/readyz" : "/healthz"
    let answer = try ask(address, for: path)
    Console.print(answer.body.hasSuffix("\n") ? answer.body : answer.body + "\n")
    guard answer.status == 200 else {
      throw CommandError.failed("\(address) answers \(path) with status \(answer.status)")
    }
    return .done
  }

  private static let patienceSeconds = 2
  private static let maximumAnswerBytes = 65_536

  private static func ask(
    _ address: HTTPAddress, for path: String
  ) throws(CommandError) -> (status: Int, body: String) {
    let descriptor = connect(to: address)
    guard descriptor >= 0 else {
      throw CommandError.failed("nothing answers at \(address): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    if send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count {
      while answer.count < maximumAnswerBytes {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { break }
        answer.append(contentsOf: buffer[..<count])
      }
    }
    let text = String(decoding: answer, as: UTF8.self)
    guard text.hasPrefix("HTTP/1.1 "), let status = text.dropFirst(9).prefix(3).integer(in: 100...999) else {
      throw CommandError.failed("\(address) does not answer in HTTP within \(patienceSeconds) seconds")
    }
    let end = text.firstRange(of: "\r\n\r\n")?.upperBound ?? text.endIndex
    return (status, String(text[end...]))
  }

  /// The connected socket; -1 with `errno` when there is none.
  private static func connect(to address: HTTPAddress) -> Int32 {
    switch address {
    case .unix(let path):
      var name = sockaddr_un()
      name.sun_family = sa_family_t(AF_UNIX)
      let bytes = Array(path.utf8)
      guard bytes.count < MemoryLayout.size(ofValue: name.sun_path) else {
        errno = ENAMETOOLONG
        return -1
      }
      withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
      return withUnsafePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(AF_UNIX, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    case .tcp(let host, let port):
      let everywhere = ["": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"]
      var found: UnsafeMutablePointer<addrinfo>?
      var hints = addrinfo()
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      guard getaddrinfo(everywhere[host] ?? host, "\(port)", &hints, &found) == 0 else {
        errno = EADDRNOTAVAIL
        return -1
      }
      defer { freeaddrinfo(found) }
      var next = found
      var descriptor: Int32 = -1
      while let entry = next?.pointee, descriptor < 0 {
        descriptor = connect(entry.ai_family, entry.ai_addr, entry.ai_addrlen)
        next = entry.ai_next
      }
      return descriptor
    }
  }

  private static func connect(_ family: Int32, _ name: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return -1 }
    var patience = timeval(tv_sec: patienceSeconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    guard Glibc.connect(descriptor, name, length) == 0 else {
      let reason = errno
      close(descriptor)
      errno = reason
      return -1
    }
    return descriptor
  }
}
