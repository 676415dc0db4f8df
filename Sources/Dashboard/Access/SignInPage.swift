/// The page on which an operator signs in.
enum SignInPage {
  static let path = "/sign-in"
  static let signOutPath = "/sign-out"
  /// The field with the page that is shown afterwards.
  static let nextField = "next"

  /// - Parameters:
  ///   - next: the path and the query of the page that is shown afterwards, without a slash in front.
  ///   - fault: why the last attempt failed.
  static func page(next: String, name: String = "", fault: String? = nil) -> Page {
    var page = Page("Sign in") { html in
      html.element("div", ["class": "panel sign-in"]) { html in
        if let fault { html.notice(fault, .bad) }
        html.element("form", ["method": "post", "action": "./sign-in"]) { html in
          html.hidden(nextField, next)
          html.element("label") { html in
            html.element("span", "Name")
            html.void(
              "input",
              [
                "name": "name", "value": name, "autocomplete": "username", "autocapitalize": "none", "required": "",
                "spellcheck": "false",
              ])
          }
          html.element("label") { html in
            html.element("span", "Secret")
            html.void(
              "input", ["name": "secret", "type": "password", "autocomplete": "current-password", "required": ""])
          }
          html.element("button", ["class": "primary"], "Sign in")
        }
        html.element("p", ["class": "quiet"]) { html in
          html.text("An admin adds operators with ")
          html.element("code", "martlet credentials add operator NAME")
          html.text(".")
        }
      }
    }
    page.refreshes = false
    return page
  }
}
