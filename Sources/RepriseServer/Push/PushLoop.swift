import NIOCore
import NIOPosix

/// The thread on which pushes are decided, made and sent, of all services and servers of this
/// process.
///
/// An event loop of its own runs the tasks and the connections, so that a push does not change
/// threads between its row and the wire; and a message to many devices takes no time from the loops
/// that serve connections.
enum PushLoop {
    static let loop: any EventLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    static let executor = LoopExecutor(loop)
}

/// Runs tasks on an event loop.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
