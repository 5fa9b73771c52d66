// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's WebKit, as far as RepriseApple uses them; nothing here does anything.
// Each type names its page below https://developer.apple.com/documentation/webkit.
@_exported public import Foundation
public import FoundationNetworking

#if REPRISE_MAC
    @_exported public import AppKit
    public typealias WKSuperview = NSView
#else
    @_exported public import UIKit
    public typealias WKSuperview = UIView
#endif

// /wkwebsitedatastore (2026-11-24)
@MainActor open class WKWebsiteDataStore: NSObject {
    override nonisolated public init() {}
    open class func nonPersistent() -> WKWebsiteDataStore { fatalError() }
}

// /wkwebviewconfiguration (2026-11-24)
@MainActor open class WKWebViewConfiguration: NSObject {
    open var websiteDataStore: WKWebsiteDataStore {
        get { fatalError() }
        set { fatalError() }
    }
    open var userContentController: WKUserContentController { fatalError() }
    open func setURLSchemeHandler(
        _ handler: (any WKURLSchemeHandler)?, forURLScheme scheme: String
    ) { fatalError() }
}

// /wkusercontentcontroller (2026-11-24)
@MainActor open class WKUserContentController: NSObject {
    override nonisolated public init() {}
    open func add(_ handler: any WKScriptMessageHandler, name: String) { fatalError() }
    open func removeAllScriptMessageHandlers() { fatalError() }
}

// /wksecurityorigin (2026-11-24)
@MainActor open class WKSecurityOrigin: NSObject {
    override nonisolated public init() {}
    open var `protocol`: String { fatalError() }
}

// /wkframeinfo (2026-11-24)
@MainActor open class WKFrameInfo: NSObject {
    override nonisolated public init() {}
    open var isMainFrame: Bool { fatalError() }
    open var securityOrigin: WKSecurityOrigin { fatalError() }
}

// /wkscriptmessage (2026-11-24)
@MainActor open class WKScriptMessage: NSObject {
    override nonisolated public init() {}
    open var body: Any { fatalError() }
    open var frameInfo: WKFrameInfo { fatalError() }
}

// /wkscriptmessagehandler (2026-11-24)
@MainActor public protocol WKScriptMessageHandler: NSObjectProtocol {
    func userContentController(
        _ userContentController: WKUserContentController, didReceive message: WKScriptMessage)
}

// /wkurlschemetask (2026-11-24)
@MainActor public protocol WKURLSchemeTask: NSObjectProtocol {
    var request: URLRequest { get }
    func didReceive(_ response: URLResponse)
    func didReceive(_ data: Data)
    func didFinish()
    func didFailWithError(_ error: any Error)
}

// /wkurlschemehandler (2026-11-24)
@MainActor public protocol WKURLSchemeHandler: NSObjectProtocol {
    func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask)
    func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask)
}

// /wknavigation (2026-11-24)
@MainActor open class WKNavigation: NSObject { override nonisolated public init() {} }
// /wknavigationaction (2026-11-24)
@MainActor open class WKNavigationAction: NSObject {
    override nonisolated public init() {}
    open var request: URLRequest { fatalError() }
}
// /wknavigationactionpolicy (2026-11-24)
public enum WKNavigationActionPolicy: Int, Sendable { case cancel, allow }

// /wknavigationdelegate (2026-11-24)
/// Its methods are optional there; here they are required, so that one that is written otherwise is
/// found.
@MainActor public protocol WKNavigationDelegate: NSObjectProtocol {
    func webView(
        _ webView: WKWebView, decidePolicyFor navigationAction: WKNavigationAction,
        decisionHandler: @escaping @MainActor @Sendable (WKNavigationActionPolicy) -> Void)
    func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!)
    func webView(
        _ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error)
    func webView(
        _ webView: WKWebView, didFailProvisionalNavigation navigation: WKNavigation!,
        withError error: any Error)
    func webViewWebContentProcessDidTerminate(_ webView: WKWebView)
}

// /wkcontentworld (2026-11-24)
@MainActor open class WKContentWorld: NSObject {
    override nonisolated public init() {}
    open class var page: WKContentWorld { fatalError() }
}

// /wkerror (2026-11-24)
public struct WKError: Error {
    public enum Code: Int, Sendable { case unknown, javaScriptExceptionOccurred }
    public var code: Code { fatalError() }
}

// /wkwebview (2026-11-24)
@MainActor open class WKWebView: WKSuperview {
    open var configuration: WKWebViewConfiguration { fatalError() }
    open weak var navigationDelegate: (any WKNavigationDelegate)?
    public init(frame: CGRect, configuration: WKWebViewConfiguration) { super.init() }
    @discardableResult open func load(_ request: URLRequest) -> WKNavigation? { fatalError() }
    open func stopLoading() { fatalError() }
    // /wkwebview/callasyncjavascript(_:arguments:in:in:completionhandler:)
    open func callAsyncJavaScript(
        _ functionBody: String, arguments: [String: Any] = [:], in frame: WKFrameInfo? = nil,
        in contentWorld: WKContentWorld,
        completionHandler: (@MainActor (Result<Any, any Error>) -> Void)? = nil
    ) { fatalError() }
}
