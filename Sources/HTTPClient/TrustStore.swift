import COpenSSL
import EventLoop
import Synchronization

/// The authorities that connections trust: the system's, and those of the settings.
///
/// Shared by connections, because the system's take 1 MB of memory and 20 ms to read.
///
/// `@unchecked`: not changed after `init` except by OpenSSL, which locks it.
final class TrustStore: @unchecked Sendable {
  /// Where libcurl expects the system's authorities.
  struct System {
    /// A file of all; nil if libcurl was built without one.
    var bundle: String?
    /// A directory with a file for each; nil if libcurl was built without one.
    var directory: String?
  }

  /// The system's authorities may change, so they are read again for a connection that is opened after this time.
  private static let lifetime = Duration.seconds(3600).unsignedNanoseconds
  /// Stores with different authorities that are kept.
  private static let maximumKept = 16

  private struct Kept {
    let store: TrustStore
    /// On CLOCK_MONOTONIC, nanoseconds.
    let readAt: UInt64
  }

  /// By the digest of the authorities of the settings.
  private static let kept = Mutex<[[UInt8]: Kept]>([:])

  private let store: OpaquePointer

  /// Throws ``HTTPClientError/connection(_:)`` if there would be no authority.
  init(_ system: System, and authorities: TrustedCertificates?) throws(HTTPClientError) {
    guard let store = X509_STORE_new() else { throw .connection("out of memory") }
    self.store = store
    X509_STORE_set_flags(store, UInt(X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN))
    var hasSystem = false
    if let bundle = system.bundle, X509_STORE_load_file(store, bundle) == 1 { hasSystem = true }
    if let directory = system.directory, X509_STORE_load_path(store, directory) == 1 { hasSystem = true }
    ERR_clear_error()
    if let authorities, !authorities.add(to: store) { throw .connection("the certificates cannot be trusted") }
    guard hasSystem || authorities != nil else {
      throw .connection("there is no certificate to trust: \(system.bundle ?? "the system's bundle") cannot be read")
    }
  }

  deinit {
    X509_STORE_free(store)
  }

  /// Makes a context trust these authorities instead of its own.
  func use(in context: OpaquePointer?) {
    SSL_CTX_set1_cert_store(context, store)
  }

  /// Returns a store that was read a moment ago, or reads one.
  static func shared(
    _ system: System, and authorities: TrustedCertificates?, now: UInt64 = Clock.monotonicNanoseconds
  ) throws(HTTPClientError) -> TrustStore {
    let key = authorities?.digest ?? []
    let known = kept.withLock { $0[key] }
    if let known, now < known.readAt + lifetime { return known.store }
    let store = try TrustStore(system, and: authorities)
    kept.withLock { kept in
      if kept[key] == nil, kept.count >= maximumKept, let oldest = kept.min(by: { $0.value.readAt < $1.value.readAt }) {
        kept[oldest.key] = nil
      }
      kept[key] = Kept(store: store, readAt: now)
    }
    return store
  }
}
