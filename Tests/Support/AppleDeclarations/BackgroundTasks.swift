// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's BackgroundTasks, as far as RepriseApple uses them; nothing here does
// anything. Each type names its page below
// https://developer.apple.com/documentation/backgroundtasks.
public import Dispatch
@_exported public import Foundation

// /bgtask (2026-11-26)
open class BGTask: NSObject {
    open var identifier: String { fatalError() }
    open var expirationHandler: (() -> Void)?
    open func setTaskCompleted(success: Bool) { fatalError() }
}

// /bgtaskrequest (2026-11-24)
open class BGTaskRequest: NSObject {
    open var identifier: String { fatalError() }
    open var earliestBeginDate: Date?
}

// /bgapprefreshtaskrequest (2026-11-24)
open class BGAppRefreshTaskRequest: BGTaskRequest {
    public init(identifier: String) { fatalError() }
}

// /bgprocessingtaskrequest (2026-11-24)
open class BGProcessingTaskRequest: BGTaskRequest {
    open var requiresNetworkConnectivity = false
    open var requiresExternalPower = false
    public init(identifier: String) { fatalError() }
}

// /bgtaskscheduler (2026-11-26): not in an extension; see UIKit.swift for REPRISE_EXTENSION.
#if REPRISE_EXTENSION
    @available(*, unavailable, message: "an extension schedules no background tasks")
#endif
@available(iOSApplicationExtension, unavailable)
open class BGTaskScheduler: NSObject, @unchecked Sendable {
    public struct Error: Swift.Error {
        public enum Code: Int, Sendable {
            case unavailable, tooManyPendingTaskRequests, notPermitted
        }
        public var code: Code { fatalError() }
    }
    open class var shared: BGTaskScheduler { fatalError() }
    open func register(
        forTaskWithIdentifier identifier: String, using queue: DispatchQueue?,
        launchHandler: @escaping (BGTask) -> Void
    ) -> Bool { fatalError() }
    open func submit(_ taskRequest: BGTaskRequest) throws { fatalError() }
    open func cancel(taskRequestWithIdentifier identifier: String) { fatalError() }
    open func getPendingTaskRequests(
        completionHandler: @escaping @Sendable ([BGTaskRequest]) -> Void
    ) { fatalError() }
}
