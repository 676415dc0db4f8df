import Crypto
import Jobs
import JSON
import PushModel

/// A message that Celery writes to a list of Redis, task protocol 2: `{"body":…,"headers":{"id":…},"properties":{…}}`. The body
/// is `[args, kwargs, embed]` in base64, and its `kwargs` or the only element of `args` are the job. The name of the task is
/// not judged.
struct CeleryMessage: FormattedElement {
  /// What is read comes first, then what Celery writes beside it: unknown keys take longer.
  private static let propertyNames = JSONKeys([
    "body_encoding", "correlation_id", "reply_to", "delivery_mode", "delivery_info", "priority", "delivery_tag",
    "expiration",
  ])
  private static let shape = "expected one job, as kwargs or as the only element of args"

  private var body: [UInt8]?
  private var hasHeaders = false
  private(set) var id: String?
  /// Unix milliseconds.
  private var eta: Int64?
  private var expires: Int64?

  var isRecognized: Bool { hasHeaders }

  /// Returns nil for a job alone, which has `to` and no `headers`.
  init?(_ bytes: [UInt8]) throws(JobError) {
    var reader = JobReader(bytes)
    try reader.beginObject()
    while let key = try reader.anyKey(among: CeleryKey.names) {
      switch CeleryKey(key) {
      case .to where !hasHeaders: return nil
      case .body: body = try reader.text()
      case .contentType: try reader.expect("application/json", as: "content-type")
      case .headers: try readHeaders(from: &reader)
      case .properties: try CeleryMessage.checkProperties(&reader)
      default: try reader.skip()
      }
    }
    reader.field = ""
    try reader.end()
  }

  private mutating func readHeaders(from reader: inout JobReader) throws(JobError) {
    reader.field = "headers"
    guard !hasHeaders else { throw reader.error("duplicate key") }
    hasHeaders = true
    try reader.beginObject()
    while let key = try reader.anyKey(among: HeaderKey.names) {
      switch HeaderKey(key) {
      case .id:
        reader.field = "headers.id"
        id = try reader.identifier(Charset.id)
      case .eta: eta = try CeleryMessage.time("headers.eta", &reader)
      case .expires: expires = try CeleryMessage.time("headers.expires", &reader)
      case .compression:
        reader.field = "headers.compression"
        guard try reader.kind() == .null else { throw reader.error("must not be used") }
        try reader.skip()
      default: try reader.skip()
      }
    }
  }

  private static func checkProperties(_ reader: inout JobReader) throws(JobError) {
    reader.field = "properties"
    try reader.beginObject()
    while let key = try reader.anyKey(among: propertyNames) {
      if key == .known(0) {
        try reader.expect("base64", as: "properties.body_encoding")
      } else {
        try reader.skip()
      }
    }
  }

  /// Unix milliseconds; nil for null.
  private static func time(_ field: String, _ reader: inout JobReader) throws(JobError) -> Int64? {
    reader.field = field
    guard try reader.kind() != .null else {
      try reader.skip()
      return nil
    }
    guard let time = Timestamp.milliseconds(try reader.string()) else {
      throw reader.error("expected a time with a zone, as in 2026-01-31T09:30:00+00:00, or null")
    }
    return time
  }

  func wrappedJob() throws(JobError) -> WrappedJob {
    guard hasHeaders else { throw JobError(reason: "headers: missing; expected a message of Celery, or a job with to") }
    guard let body else { throw JobError(reason: "body: missing") }
    var reader = JobReader(body)
    reader.field = "body"
    guard let content = Base64.decode(Array(try reader.string().utf8)) else { throw reader.error("expected base64") }
    do {
      // A second is the finest expiration; the job does not outlive the message. 0 would have another meaning.
      let expiration = expires.map { max(1, $0 / 1000) }
      return WrappedJob(json: try CeleryMessage.job(in: content), id: id, sendAt: eta, expiration: expiration)
    } catch {
      throw JobError(reason: "body: \(error.reason)")
    }
  }

  /// `content`: `[args, kwargs, embed]`.
  private static func job(in content: [UInt8]) throws(JobError) -> [UInt8] {
    var reader = JobReader(content)
    try reader.beginArray()
    guard try reader.nextElement(), try reader.kind() == .array else { throw JobError(reason: shape) }
    let args = try reader.text()
    guard try reader.nextElement(), try reader.kind() == .object else { throw JobError(reason: shape) }
    let kwargs = try reader.text()
    while try reader.nextElement() { try reader.skip() }
    try reader.end()
    let positional = try WrappedJob.onlyElement(of: args, shape)
    var named = JobReader(kwargs)
    try named.beginObject()
    guard try named.anyKey() != nil else {
      guard let positional else { throw JobError(reason: shape) }
      return positional
    }
    guard positional == nil else { throw JobError(reason: shape) }
    return kwargs
  }
}

/// The keys of a message, those first that are read. ``names`` has the order of the cases.
private enum CeleryKey: Int {
  case to, body, contentType, headers, properties

  static let names = JSONKeys(["to", "body", "content-type", "headers", "properties", "content-encoding"])

  init?(_ key: JSONKey) {
    guard case .known(let number) = key else { return nil }
    self.init(rawValue: number)
  }
}

/// The keys of `headers`, those first that are read.
private enum HeaderKey: Int {
  case id, eta, expires, compression

  static let names = JSONKeys([
    "id", "eta", "expires", "compression", "lang", "task", "shadow", "group", "group_index", "retries", "timelimit",
    "root_id", "parent_id", "argsrepr", "kwargsrepr", "origin", "ignore_result", "stamps", "stamped_headers",
    "replaced_task_nesting",
  ])

  init?(_ key: JSONKey) {
    guard case .known(let number) = key else { return nil }
    self.init(rawValue: number)
  }
}
