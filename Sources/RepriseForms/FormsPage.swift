package import RepriseCore

/// The page that runs in the web view: `Web/forms.html` and `Web/forms.js`, as they were when this
/// was built.
package enum FormsPage {
    /// Blocks scripts and requests to other origins; pictures may come from anywhere over TLS, or
    /// with the catalogue.
    ///
    /// The page's styles are constructed sheets, which need no permission. Text never becomes HTML
    /// or script.
    package static let policy =
        "default-src 'none'; script-src 'self'; img-src https: data:; form-action 'none'; "
        + "base-uri 'none'; frame-ancestors 'none'; "
        + "require-trusted-types-for 'script'; trusted-types 'none'"

    /// The page for one life of a web view.
    ///
    /// - Parameter session: the token that each of the page's messages must carry.
    /// - Returns: the page for ``RepriseCore/WebViewHost``.
    package static func page(session: String) -> HostedWebPage {
        let html = String(decoding: PackageResources.forms_html, as: UTF8.self)
            .replacing("{{session}}", with: session)
        return HostedWebPage(
            files: [
                "/": .init(type: "text/html; charset=utf-8", bytes: Array(html.utf8)),
                "/forms.js": .init(
                    type: "text/javascript; charset=utf-8", bytes: PackageResources.forms_js),
            ], policy: policy)
    }
}
