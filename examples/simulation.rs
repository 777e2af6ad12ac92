// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stars attract each other.  The program records itself into the file PROFILE:
//
//     rustc --edition 2021 -O -g -L "$(pkg-config --variable=libdir vgctl)" simulation.rs
//     ./simulation simulation.vgp && vgtool report simulation.vgp
//
// simulation PROFILE [STEPS].  In each step the main thread puts all stars into a tree, then two workers move them.
// The writer writes them to stars.txt, again and again, and holds their lock meanwhile.  The monitor sleeps, and shows
// the progress.  simulation.c and simulation.cc are the same program, and print the same checksum.
use std::io::{BufWriter, Write};
use std::ops::{Add, Mul, Sub};
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::sync::{atomic::AtomicUsize, atomic::Ordering::SeqCst, mpsc, Arc, RwLock};
use std::{env, ffi::CStr, ffi::CString, fs::File, io, marker::PhantomData, mem, ptr, thread, time::Duration};

const STARS: usize = 4000;
const WORKERS: usize = 2;
const STEP_TIME: f64 = 1e-3;
const SOFTENING: f64 = 1e-4;
const ACCURACY: f64 = 0.7;

#[repr(C)] // The first members of struct vgctl_options.  The library has defaults for the others.
struct Options { struct_bytes: usize, rate_hz: c_uint, mode: c_int }

#[repr(C)] #[derive(Clone, Copy)]
struct RawInterval { token: u64, session: u32, detached: u32 }

#[link(name = "vgctl")]
extern "C" {
    fn vgctl_options_init(options: *mut Options, size: usize);
    fn vgctl_begin(path: *const c_char, options: *const Options, session: *mut *mut c_void) -> c_int;
    fn vgctl_end(session: *mut c_void, summary: *mut c_void) -> c_int;
    fn vgctl_strerror(error: c_int) -> *const c_char;
    fn vgctl_intern(text: *const c_char) -> u32;
    fn vgctl_thread_name(name: *const c_char);
    fn vgctl_interval_begin(kind: u32, label: u32, argument: u64) -> RawInterval;
    fn vgctl_interval_end(interval: RawInterval);
    fn vgctl_counter(label: u32, value: i64);
}

fn c(text: &str) -> CString { CString::new(text).expect("text without NUL") }
fn intern(text: &str) -> u32 { unsafe { vgctl_intern(c(text).as_ptr()) } }
fn thread_name(name: &str) { unsafe { vgctl_thread_name(c(name).as_ptr()) } }

fn check(rc: c_int) -> Result<(), String> {
    if rc >= 0 { Ok(()) } else { Err(unsafe { CStr::from_ptr(vgctl_strerror(rc)) }.to_string_lossy().into()) }
}

/// An interval that ends when the value is dropped.  The marker keeps the value on its thread.
struct Phase(RawInterval, PhantomData<*const ()>);

impl Phase {
    fn begin(label: &str) -> Self {
        Phase(unsafe { vgctl_interval_begin(intern("phase"), intern(label), 0) }, PhantomData)
    }
}
impl Drop for Phase { fn drop(&mut self) { unsafe { vgctl_interval_end(self.0) } } }

#[derive(Clone, Copy, Default)]
struct Point { x: f64, y: f64 }

impl Add for Point { type Output = Self; fn add(self, b: Self) -> Self { Point { x: self.x + b.x, y: self.y + b.y } } }
impl Sub for Point { type Output = Self; fn sub(self, b: Self) -> Self { Point { x: self.x - b.x, y: self.y - b.y } } }
impl Mul<f64> for Point { type Output = Self; fn mul(self, k: f64) -> Self { Point { x: self.x * k, y: self.y * k } } }

struct Star { position: Point, velocity: Point }

/// A square of the tree, with the number and the sum of the positions in it.
#[derive(Default)]
struct Square { middle: Point, sum: Point, half: f64, stars: u32, children: [Option<Box<Square>>; 4] }

impl Square {
    /// Adds a star, and returns how many squares were created for it.
    fn add(&mut self, star: Point) -> i64 {
        let mut created = 0;
        if self.stars == 1 { created += self.child_add(self.sum); } // the star that was alone in this square
        if self.stars >= 1 { created += self.child_add(star); }
        self.sum = self.sum + star;
        self.stars += 1;
        created
    }

    fn child_add(&mut self, star: Point) -> i64 {
        let (right, up, half) = (star.x >= self.middle.x, star.y >= self.middle.y, self.half / 2.0);
        let child = &mut self.children[usize::from(right) + 2 * usize::from(up)];
        let created = child.is_none();
        let middle = self.middle + Point { x: if right { half } else { -half }, y: if up { half } else { -half } };
        let child = child.get_or_insert_with(|| Box::new(Square { middle, half, ..Default::default() }));
        i64::from(created) + child.add(star)
    }

    /// The force on a star.  The stars of a square that is far away count as one.
    fn force(&self, star: Point) -> Point {
        let away = self.sum * (1.0 / f64::from(self.stars)) - star;
        let square = away.x * away.x + away.y * away.y + SOFTENING;
        if self.stars == 1 || self.half * self.half < ACCURACY * ACCURACY * square {
            return away * (f64::from(self.stars) / (square * square.sqrt()));
        }
        self.children.iter().flatten().fold(Point::default(), |sum, child| sum + child.force(star))
    }
}

fn tree_build(stars: &[Vec<Star>]) -> Square {
    let _phase = Phase::begin("tree");
    let positions = || stars.iter().flatten().map(|star| star.position);
    let half = positions().fold(0.0, |half: f64, at| half.max(at.x.abs()).max(at.y.abs()));
    let mut tree = Square { half, ..Default::default() };
    let squares = 1 + positions().map(|at| tree.add(at)).sum::<i64>();
    unsafe { vgctl_counter(intern("nodes"), squares) };
    tree
}

fn stars_move(stars: &mut [Star], tree: &Square) {
    let _phase = Phase::begin("move");
    stars.iter_mut().for_each(|star| {
        star.velocity = star.velocity + tree.force(star.position) * (STEP_TIME / STARS as f64);
        star.position = star.position + star.velocity * STEP_TIME;
    });
}

fn stars_write(stars: &RwLock<Vec<Vec<Star>>>) -> io::Result<()> {
    let _phase = Phase::begin("write");
    let stars = stars.read().unwrap();
    let mut file = BufWriter::new(File::create("stars.txt")?);
    stars.iter().flatten().try_for_each(|star| writeln!(file, "{:.6} {:.6}", star.position.x, star.position.y))?;
    file.flush()
}

/// Moves the stars that come through the channel, with the tree that comes with them, and sends them back.
fn worker(jobs: mpsc::Receiver<(Arc<Square>, Vec<Star>)>, moved: mpsc::Sender<Vec<Star>>) {
    for (tree, mut own) in jobs {
        stars_move(&mut own, &tree);
        drop(tree);
        moved.send(own).unwrap();
    }
}

fn simulate(stars: &RwLock<Vec<Vec<Star>>>, steps: usize) {
    let steps_done = AtomicUsize::new(0);
    let done = || steps_done.load(SeqCst);
    thread::scope(|scope| {
        let workers = Vec::from_iter((0..WORKERS).map(|i| {
            let ((job, jobs), (moved, moves)) = (mpsc::channel(), mpsc::channel());
            scope.spawn(move || { thread_name(&format!("worker {i}")); worker(jobs, moved) });
            (job, moves)
        }));
        scope.spawn(|| {
            thread_name("writer");
            while done() < steps {
                stars_write(stars).expect("stars.txt");
                thread::sleep(Duration::from_millis(5));
            }
        });
        scope.spawn(|| {
            thread_name("monitor");
            while done() < steps {
                thread::sleep(Duration::from_millis(100));
                eprintln!("step {} of {steps}", done());
            }
        });
        while done() < steps {
            // Only this thread changes the stars, so it reads them together with the writer while it builds the tree.
            let tree = Arc::new(tree_build(&stars.read().unwrap()));
            let mut stars = stars.write().unwrap();
            for ((job, _), own) in workers.iter().zip(stars.iter_mut()) {
                job.send((tree.clone(), mem::take(own))).unwrap();
            }
            for ((_, moves), own) in workers.iter().zip(stars.iter_mut()) {
                *own = moves.recv().unwrap();
            }
            steps_done.fetch_add(1, SeqCst);
        }
    });
    stars_write(stars).expect("stars.txt");
}

fn main() -> Result<(), String> {
    let arguments = Vec::from_iter(env::args());
    let profile = arguments.get(1).ok_or("usage: simulation PROFILE [STEPS]")?;
    let steps = arguments.get(2).map_or(Ok(500), |text| text.parse()).map_err(|error| format!("STEPS: {error}"))?;
    let star = |i: usize| {
        let (x, y) = (2.0 * (i as f64 * 0.618034 % 1.0) - 1.0, 2.0 * i as f64 / STARS as f64 - 1.0);
        Star { position: Point { x, y }, velocity: Point { x: -y / 2.0, y: x / 2.0 } }
    };
    let part = |i| Vec::from_iter((STARS / WORKERS * i..STARS / WORKERS * (i + 1)).map(star));
    let stars = RwLock::new(Vec::from_iter((0..WORKERS).map(part)));
    let (mut options, mut session) = (Options { struct_bytes: 0, rate_hz: 0, mode: 0 }, ptr::null_mut());
    unsafe { vgctl_options_init(&mut options, mem::size_of::<Options>()) };
    options.rate_hz = 499;
    thread_name("main");
    check(unsafe { vgctl_begin(c(profile).as_ptr(), &options, &mut session) })?;
    simulate(&stars, steps);
    check(unsafe { vgctl_end(session, ptr::null_mut()) })?;
    let checksum = stars.read().unwrap().iter().flatten().fold(0u64, |sum, Star { position: at, .. }| {
        sum.wrapping_mul(31).wrapping_add(at.x.to_bits()).wrapping_mul(31).wrapping_add(at.y.to_bits())
    });
    println!("checksum {checksum:016x}");
    Ok(())
}
