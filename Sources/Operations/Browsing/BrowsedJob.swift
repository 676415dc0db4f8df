import JSON
import Jobs
import PushModel
import Queue

/// A job for display, which stays where it is. Only the beginning of a long job is read.
public struct BrowsedJob: Sendable, Equatable {
  /// Where it is in its sorted set; nil in a list.
  public let position: SortedPosition?
  /// Whether it is a paused broadcast, which waits among the scheduled jobs.
  public var isPaused: Bool { position?.isWithoutDate ?? false }

  /// Tells this element from others of the same score.
  public let digest: String
  /// The attempts that it has had.
  public let attempts: Int
  /// The name that the fleet gave to the element; nil if no worker has claimed it yet.
  public let nonce: String?
  /// The producer's bytes, or their beginning.
  public let job: [UInt8]
  /// How many bytes the producer's job has.
  public let jobBytes: Int
  /// Only of a dead letter.
  public let burial: Burial?

  /// The first line of a dead letter.
  public struct Burial: Sendable, Equatable {
    public let id: String?
    public let reason: String
    /// Unix ms.
    public let at: Int64
    public let attempts: Int
  }

  /// The id that its record has; nil if it gets one when a worker claims it.
  public var id: String? {
    burial?.id ?? JobSummary(job: job).id ?? nonce.map(JobID.derived(nonce:))
  }

  /// Names the element in a form that a later request sends back; nil in a list. See ``Reference``.
  public var reference: Reference? {
    position.map { Reference(position: $0, digest: digest) }
  }

  /// An element of a sorted set, by which a later action finds it.
  public struct Reference: Sendable, Equatable {
    public let position: SortedPosition
    public let digest: String

    fileprivate static let digests = Charset(of: "0123456789abcdef", length: 40...40, "SHA-1")

    public var text: String { "\(position.text),\(digest)" }
  }
}

extension BrowsedJob.Reference {
  /// Reads `<score>,<skip>,<digest>`. Returns nil for anything else.
  public init?(_ text: String) {
    guard let comma = text.lastIndex(of: ","), let position = SortedPosition(text[..<comma]) else { return nil }
    let digest = String(text[text.index(after: comma)...])
    guard BrowsedJob.Reference.digests.accepts(digest) else { return nil }
    self.init(position: position, digest: digest)
  }
}

extension BrowsedJob.Burial {
  /// Returns nil if `line` is not the first line of a dead letter.
  init?(line: [UInt8]) {
    guard let head = try? JSONValue(parsing: line), let reason = head["reason"]?.string else { return nil }
    id = head["id"]?.string
    self.reason = reason
    at = head["at"]?.time ?? 0
    attempts = head["attempts"]?.count ?? 0
  }
}

extension BrowsedJob {
  init(_ element: BoundedRead.Element, _ envelope: Envelope, at position: SortedPosition? = nil, burial: Burial? = nil)
  {
    self.position = position
    digest = element.digest
    self.burial = burial
    attempts = burial?.attempts ?? envelope.attempts
    nonce = envelope.nonce
    job = Array(envelope.job.prefix(Job.maximumBytes))
    jobBytes = element.length - element.bytes.count + envelope.job.count
  }

  /// Reads a dead letter.
  init(letter: BoundedRead.Element, at position: SortedPosition?) {
    let line = letter.bytes.prefix { $0 != UInt8(ascii: "\n") }
    let rest = line.count < letter.bytes.count ? letter.bytes.dropFirst(line.count + 1) : letter.bytes[...]
    self.init(letter, Envelope(element: Array(rest)), at: position, burial: Burial(line: Array(line)))
  }
}
