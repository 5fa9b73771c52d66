import NIOCore
import NIOPosix

/// The thread that decides, makes and sends the pushes of all services and servers of this process.
///
/// Its own event loop runs the tasks and the connections, so that a push changes no threads between
/// its row and the wire, and a message to many devices takes no time from the loops that serve
/// connections.
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
