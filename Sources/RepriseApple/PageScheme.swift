// Not run by the project's own tests, which run on Linux; compiled only with WebKit.
#if canImport(WebKit)
    import Foundation
    import RepriseCore
    import WebKit

    /// Serves the files of a page from memory, each with the page's policy: nothing comes over the
    /// network.
    @MainActor final class PageScheme: NSObject, WKURLSchemeHandler {
        static let name = "reprise-page"

        private let page: HostedWebPage

        init(_ page: HostedWebPage) { self.page = page }

        func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask) {
            guard let url = urlSchemeTask.request.url else {
                return urlSchemeTask.didFailWithError(URLError(.badURL))
            }
            let file = page.files[url.path.isEmpty ? "/" : url.path]
            let headers = [
                "Content-Type": file?.type ?? "text/plain",
                "Content-Security-Policy": page.policy,
                "X-Content-Type-Options": "nosniff",
            ]
            let response = HTTPURLResponse(
                url: url, statusCode: file == nil ? 404 : 200, httpVersion: "HTTP/1.1",
                headerFields: headers)
            guard let response else {
                return urlSchemeTask.didFailWithError(URLError(.badServerResponse))
            }
            urlSchemeTask.didReceive(response)
            urlSchemeTask.didReceive(Data(file?.bytes ?? []))
            urlSchemeTask.didFinish()
        }

        /// Every answer is already complete, so nothing is left to stop.
        func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask) {}
    }
#endif
