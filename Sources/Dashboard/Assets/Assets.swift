import CFiles
import Crypto
import HTTPServer

/// A file that browsers load with the pages. Its name contains a digest of its content, so it never changes under one name.
struct Asset: Sendable {
  /// Below the root of the dashboard, without a slash in front: `assets/style-0123456789ab.css`.
  let path: String
  let response: HTTPResponse

  private static let digestLength = 12

  init(name: String, extension: String, type: String, _ content: [UInt8]) {
    let digest = Hex.encode(SHA256.digest(content)).prefix(Asset.digestLength)
    path = "assets/\(name)-\(digest).\(`extension`)"
    response = HTTPResponse(
      status: 200, headers: [("Content-Type", type), ("Cache-Control", "public, max-age=31536000, immutable")],
      body: content)
  }
}

/// The files of the dashboard, which are part of the program.
enum Assets {
  /// All styles in one file, in this order.
  private static let stylesheets = [
    content(of: martlet_file_style_css()), content(of: martlet_file_jobs_css()), content(of: martlet_file_fleet_css()),
  ]

  static let style = Asset(name: "style", extension: "css", type: "text/css; charset=utf-8", stylesheets.flatMap { $0 })
  static let script = Asset(
    name: "dashboard", extension: "js", type: "text/javascript; charset=utf-8", content(of: martlet_file_dashboard_js())
  )
  static let icon = Asset(name: "icon", extension: "svg", type: "image/svg+xml", content(of: martlet_file_icon_svg()))

  private static let all = [style, script, icon]

  private static func content(of file: martlet_file) -> [UInt8] {
    Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
  }

  /// Returns the file of a path of a request; nil if there is none.
  static func response(to path: String) -> HTTPResponse? {
    all.first { path.utf8.dropFirst().elementsEqual($0.path.utf8) }?.response
  }
}
