import CCurl
import COpenSSL

#if canImport(Glibc)
  import Glibc
#endif

/// A TLS connection for HTTP/2, opened by libcurl. Transports bytes.
///
/// `@unchecked`: used by one thread at a time: by the opening queue until `init` returns, then by the event loop.
public final class SecureChannel: @unchecked Sendable {
  public enum Progress {
    case bytes(Int)
    /// The socket must become ready first.
    case wouldBlock
    /// The peer closed the connection, or it failed.
    case ended(String)
  }

  /// How much memory a connection keeps while nothing is transferred.
  public enum Buffers: Sendable {
    case full
    /// A third of it, at the cost of an allocation for each transfer: for the connections of many apps.
    case small
  }

  /// The maximum number of bytes that libcurl reads at once with ``Buffers/small``.
  private static let smallBytes = 4096
  private static let noHTTP2 = "the server did not agree to HTTP/2: it selected no protocol by ALPN; h2 was offered"
  private static let alpn: [UInt8] = [2] + Array("h2".utf8)

  private let handle: UnsafeMutableRawPointer
  /// Owned by the channel.
  public let descriptor: Int32
  private var hasAgreedToHTTP2 = false

  /// What TLS has agreed on.
  public struct Handshake: Sendable {
    /// `TLSv1.3`, for example.
    public let version: String
    /// Whether the server has asked for a client certificate.
    public let asksForCertificate: Bool
  }

  /// Nil before something was sent.
  public var handshake: Handshake? {
    guard let tls else { return nil }
    // A client knows its peer's algorithms from the request for a certificate alone.
    let algorithms = SSL_get_sigalgs(tls, 0, nil, nil, nil, nil, nil)
    return Handshake(version: String(cString: SSL_get_version(tls)), asksForCertificate: algorithms > 0)
  }

  /// Connects: DNS, TCP, proxy and TLS. Blocks for at most `connectMilliseconds`.
  public init(
    to address: WebAddress, authorities: TrustedCertificates?, buffers: Buffers, connectMilliseconds: Int
  ) throws(HTTPClientError) {
    guard let handle = Curl.makeHandle() else {
      throw .connection("libcurl could not be initialised")
    }
    do throws(HTTPClientError) {
      let trust = try TrustStore.shared(Curl.systemAuthorities(handle), and: authorities)
      let peer = ExpectedPeer(host: address.host, trust: trust, buffers: buffers)
      try SecureChannel.configure(handle, address, peer, connectMilliseconds)
      descriptor = try SecureChannel.connect(handle)
      // libcurl has an unretained pointer to it, which it uses during the handshake.
      withExtendedLifetime(peer) {}
    } catch {
      curl_easy_cleanup(handle)
      throw error
    }
    self.handle = handle
  }

  deinit {
    curl_easy_cleanup(handle)
  }

  public func send(_ bytes: ArraySlice<UInt8>) -> Progress {
    var count = 0
    let code = bytes.withUnsafeBytes { curl_easy_send(handle, $0.baseAddress, $0.count, &count) }
    switch code {
    case CURLE_OK: return isHTTP2() ? .bytes(count) : .ended(SecureChannel.noHTTP2)
    case CURLE_AGAIN: return .wouldBlock
    default: return .ended(String(cString: curl_easy_strerror(code)))
    }
  }

  /// libcurl may buffer decrypted bytes, so call it until it returns ``Progress/wouldBlock``.
  public func receive(into buffer: inout [UInt8]) -> Progress {
    var count = 0
    let code = buffer.withUnsafeMutableBytes { curl_easy_recv(handle, $0.baseAddress, $0.count, &count) }
    switch code {
    case CURLE_OK: return count > 0 ? .bytes(count) : .ended("closed by the server")
    case CURLE_AGAIN: return .wouldBlock
    default: return .ended(String(cString: curl_easy_strerror(code)))
    }
  }

  private static func configure(
    _ handle: UnsafeMutableRawPointer, _ address: WebAddress, _ peer: ExpectedPeer, _ connectMilliseconds: Int
  ) throws(HTTPClientError) {
    var codes = [
      martlet_curl_set_long(handle, CURLOPT_CONNECT_ONLY, 1),
      martlet_curl_set_long(handle, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1),
      martlet_curl_set_long(handle, CURLOPT_SSL_ENABLE_ALPN, 0),
      martlet_curl_set_ssl_context_function(handle) { _, context, peer in SecureChannel.prepare(context, peer) },
      martlet_curl_set_pointer(handle, CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(peer).toOpaque()),
    ]
    if peer.buffers == .small { codes.append(martlet_curl_set_long(handle, CURLOPT_BUFFERSIZE, smallBytes)) }
    try Curl.configure(handle, url: address.origin, connectMilliseconds: connectMilliseconds, codes)
  }

  private static func prepare(_ context: UnsafeMutableRawPointer?, _ peer: UnsafeMutableRawPointer?) -> CURLcode {
    let context = OpaquePointer(context)
    guard let peer = peer.map({ Unmanaged<ExpectedPeer>.fromOpaque($0).takeUnretainedValue() }),
      peer.apply(to: context)
    else { return CURLE_SSL_CONNECT_ERROR }
    var modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
    if peer.buffers == .small { modes |= SSL_MODE_RELEASE_BUFFERS }
    SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
    // This function returns 0 on success, unlike the rest of OpenSSL.
    return SSL_CTX_set_alpn_protos(context, alpn, UInt32(alpn.count)) == 0 ? CURLE_OK : CURLE_SSL_CONNECT_ERROR
  }

  private static func connect(_ handle: UnsafeMutableRawPointer) throws(HTTPClientError) -> Int32 {
    let (code, reason) = Curl.perform(handle)
    guard code == CURLE_OK else {
      // OpenSSL's text for the alert of a server that supports only other protocols.
      guard !reason.contains("no application protocol") else {
        throw .connection("the server did not agree to HTTP/2: it supports no protocol that was offered by ALPN (h2)")
      }
      if let proxy = httpsProxyProblem({ name in getenv(name).map { String(cString: $0) } }) {
        throw .connection("\(reason); \(proxy)")
      }
      throw .connection(reason)
    }
    var socket: curl_socket_t = -1
    guard martlet_curl_get_socket(handle, &socket) == CURLE_OK, socket >= 0 else {
      throw .connection("libcurl gave no socket")
    }
    return socket
  }

  /// Returns the fault of the proxy that libcurl takes from the environment; nil if it is not an https:// proxy.
  ///
  /// The connection to such a proxy would be verified, and use ALPN, as if it were the connection to the gateway.
  static func httpsProxyProblem(_ environment: (String) -> String?) -> String? {
    let names = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    guard let name = names.first(where: { environment($0)?.isEmpty == false }),
      environment(name)?.lowercased().hasPrefix("https://") == true
    else { return nil }
    return "\(name) names an https:// proxy, which is not supported: expected http:// or socks5h://, "
      + "or the host of the gateway in NO_PROXY"
  }

  /// libcurl gives access to its TLS session only after something was sent.
  private var tls: OpaquePointer? {
    var info: UnsafeMutablePointer<curl_tlssessioninfo>?
    guard martlet_curl_get_tls(handle, &info) == CURLE_OK else { return nil }
    return info?.pointee.internals.map { OpaquePointer($0) }
  }

  /// Returns whether the server selected h2.
  private func isHTTP2() -> Bool {
    guard !hasAgreedToHTTP2 else { return true }
    guard let tls else { return false }
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(tls, &name, &count)
    hasAgreedToHTTP2 = UnsafeBufferPointer(start: name, count: Int(count)).elementsEqual(SecureChannel.alpn.dropFirst())
    return hasAgreedToHTTP2
  }
}
