import Credentials
import Jobs
import JSON
import PushModel
import Sidecar

/// Who sends a request.
struct GorushCaller {
  let apps: AppBinding
  let ids: JobNamespace

  /// Nil: anybody.
  init(_ key: Credential?) {
    apps = key?.apps ?? .everyApp
    ids = key.map(JobNamespace.init(ofKey:)) ?? .ofNobody()
  }
}

/// The jobs of one request, and what is reported of its notifications.
struct GorushBatch {
  private static let tokensOfJob = 500
  /// The size of these tokens, of 64 digits each, as JSON: half of the largest job.
  private static let tokenBytesOfJob = tokensOfJob * (64 + quotes)
  /// Of a token in an array, its quotes and a comma.
  private static let quotes = 3
  /// Scalars of the sender's text that an answer repeats.
  private static let maximumQuote = 200
  /// Entries of an answer: each may quote more than what it is about.
  private static let maximumLogs = 1000

  private let caller: GorushCaller
  /// As JSON.
  private(set) var jobs: [[UInt8]] = []
  /// Tokens in ``jobs``.
  private(set) var count = 0
  /// At most ``maximumLogs``.
  private(set) var logs: [JSONObject] = []
  /// How many there are beside ``logs``.
  private var unlistedCount = 0

  init(of caller: GorushCaller) {
    self.caller = caller
  }

  mutating func add(_ json: JSONValue) {
    let fields = GorushFields(json: json)
    do throws(GorushFault) {
      let tokens = try fields.tokens()
      guard fields.platform == "ios" else {
        let fault = "unsupported platform: Martlet sends to APNs only"
        return (tokens.isEmpty ? [""] : tokens).forEach { log(fault, of: fields, token: $0) }
      }
      guard !tokens.isEmpty else { throw GorushFault(reason: "tokens: missing; name at least one device token") }
      let notification = try GorushNotification(fields, of: caller)
      try enqueue(notification, to: valid(tokens, of: fields))
      guard !notification.ignored.isEmpty else { return }
      log("ignored: \(notification.ignored.joined(separator: ", "))", of: fields, type: "ignored-fields")
    } catch {
      log(error.reason, of: fields)
    }
  }

  /// Returns the tokens that can be sent to, and reports the others.
  private mutating func valid(_ tokens: [String], of fields: GorushFields) -> [DeviceToken] {
    tokens.compactMap { token in
      do throws(Refusal) {
        return try RequestFields.apnsToken(token, "tokens")
      } catch {
        log(error.message ?? error.error, of: fields, token: token)
        return nil
      }
    }
  }

  private mutating func enqueue(_ notification: GorushNotification, to tokens: [DeviceToken]) throws(GorushFault) {
    var made: [[UInt8]] = []
    for part in GorushBatch.parts(of: tokens) {
      let job = notification.job(to: part, number: made.count)
      do { _ = try Job(parsing: job).apnsPayload() } catch { throw GorushFault(reason: error.reason) }
      made.append(job)
    }
    jobs += made
    count += tokens.count
  }

  /// The tokens of each job.
  private static func parts(of tokens: [DeviceToken]) -> [[DeviceToken]] {
    var (parts, bytes): ([[DeviceToken]], Int) = ([], 0)
    for token in tokens {
      bytes += token.text.utf8.count + quotes
      if let last = parts.indices.last, parts[last].count < tokensOfJob, bytes <= tokenBytesOfJob {
        parts[last].append(token)
      } else {
        parts.append([token])
        bytes = token.text.utf8.count + quotes
      }
    }
    return parts
  }

  /// What ends the list of an answer that has too many entries.
  var unlisted: [JSONObject] {
    guard unlistedCount > 0 else { return [] }
    return [
      [
        "type": "failed-push", "platform": "unknown", "token": "", "message": "",
        "error": "\(unlistedCount) more entries are not listed",
      ]
    ]
  }

  private mutating func log(
    _ error: String, of fields: GorushFields, token: String = "", type: String = "failed-push"
  ) {
    guard logs.count < GorushBatch.maximumLogs else {
      unlistedCount += 1
      return
    }
    func shortened(_ text: String?) -> String? {
      text.map { String($0.unicodeScalars.prefix(GorushBatch.maximumQuote)) }
    }
    logs.append([
      "notif_id": shortened(fields.json["notif_id"]?.string), "type": type, "platform": fields.platform,
      "token": shortened(token), "message": shortened(fields.json["message"]?.string) ?? "", "error": shortened(error),
    ])
  }
}
