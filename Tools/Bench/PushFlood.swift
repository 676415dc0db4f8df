import PushModel
import APNs
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// Sends pushes, a fixed number of them at once, until all are answered.
@EventLoop
final class PushFlood {
  /// 209 bytes, the size used in published measurements of other clients.
  private static let payload: [UInt8] = {
    let head = #"{"aps":{"alert":{"title":"Lunch?","body":""#
    let tail = #""},"sound":"default"}}"#
    let filler = String(repeating: "x", count: 209 - head.utf8.count - tail.utf8.count)
    return Array((head + filler + tail).utf8)
  }()
  private static let topic = "com.example.bench"

  private(set) var accepted = 0
  private(set) var refused = 0
  private(set) var unanswered = 0
  /// The reason of the first push that was not accepted.
  private(set) var firstFault: String?

  private let client: APNsClient
  private let arguments: Arguments
  private let tokens: [String]
  private let idPrefix: String
  private var sent = 0
  private let done: @EventLoop () -> Void

  init(client: APNsClient, arguments: Arguments, done: @escaping @EventLoop () -> Void) {
    self.client = client
    self.arguments = arguments
    self.done = done
    tokens = (1...arguments.tokens).map { Self.hexadecimal(UInt64($0), digits: 64) }
    let run = Self.hexadecimal(.random(in: 0 ... .max), digits: 16)
    idPrefix = "\(run.prefix(8))-\(run.dropFirst(8).prefix(4))-4\(run.suffix(3))-8000-"
  }

  func start() {
    for _ in 0..<min(arguments.window, arguments.pushes) { sendNext() }
  }

  private func sendNext() {
    sent += 1
    client.send(
      Push(
        token: tokens[sent % tokens.count], apnsID: idPrefix + Self.hexadecimal(UInt64(sent), digits: 12),
        shared: SharedContent(
          message: Push.Message(payload: Self.payload), topic: Self.topic, environment: .production), evidence: .none
      ) { [self] outcome in ended(outcome) })
  }

  private func ended(_ outcome: SendOutcome) {
    switch outcome {
    case .answered(let answer) where answer.status == 200: accepted += 1
    case .answered(let answer):
      refused += 1
      if firstFault == nil { firstFault = answer.reason }
    case .notProcessed(let reason), .uncertain(let reason):
      unanswered += 1
      if firstFault == nil { firstFault = reason }
    }
    if sent < arguments.pushes {
      sendNext()
    } else if accepted + refused + unanswered == arguments.pushes {
      done()
    }
  }

  private static func hexadecimal(_ value: UInt64, digits: Int) -> String {
    String(unsafeUninitializedCapacity: digits) { buffer in
      var rest = value
      for index in stride(from: digits - 1, through: 0, by: -1) {
        let digit = UInt8(rest & 15)
        buffer[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        rest >>= 4
      }
      return digits
    }
  }
}

/// CPU time used by all threads of the process.
enum CPUTime {
  static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
