package import Credentials
import Crypto
import Jobs

/// The ids of the jobs that one client enqueues by HTTP. An id names only a job of the same client: one of another client, or of a
/// producer that writes to Redis, is another job.
///
/// Such a job has the id `<tag>:<id>`, or `<tag>.<SHA-256 of the id>` if that is too long, where the tag is a digest: a key's name may
/// be any text, and a producer's ids may begin with it.
package struct JobNamespace: Sendable {
  /// Hexadecimal digits: 96 bits.
  private static let tagLength = 24

  private let tag: String

  private init(_ name: String) { tag = String(SHA256.hex(name).prefix(JobNamespace.tagLength)) }

  package init(ofKey key: Credential) { self.init("key\n" + key.name) }

  /// Of one request without a credential: nobody else is in it, not even the same client.
  package static func ofNobody() -> JobNamespace { JobNamespace(JobID.random()) }

  /// Returns the id of the job that the client calls `id`.
  package func jobID(_ id: String) -> String {
    let whole = "\(tag):\(id)"
    return Job.isID(whole) ? whole : "\(tag).\(SHA256.hex(id))"
  }
}
