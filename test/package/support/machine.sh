# A machine of its own for a test: this system's files with what is changed kept in memory, processes, network and services of its own,
# all of it gone at the end. The directory STUFF is /stuff in it. Needs root and Linux; ends with 77 and a reason where it cannot be had.
#
#   machine.sh run STUFF        runs /stuff/run.sh in it
#   machine.sh services STUFF   runs /stuff/prepare.sh, starts systemd, and in it /stuff/run.sh; what that prints goes to /stuff/printed
set -eu

if [ "${MACHINE_INSIDE-}" = "" ]; then
  cannot() { echo "$1" >&2; exit 77; }
  [ "$(uname)" = Linux ] || cannot "only Linux has namespaces"
  [ "$(id -u)" = 0 ] || cannot "a machine of its own needs root"
  [ "$1" = run ] || [ -x /lib/systemd/systemd ] || cannot "there is no systemd"
  unshare --mount --pid --ipc --uts --net --cgroup --fork true 2>/dev/null || cannot "namespaces cannot be had"
  # A control group whose namespace is the whole system's outlives it.
  groups() { find /sys/fs/cgroup/ -depth -name init.scope 2>/dev/null || true; }
  before=$(groups)
  code=0
  MACHINE_INSIDE=1 timeout --kill-after=5 90 \
    unshare --mount --pid --ipc --uts --net --cgroup --fork --kill-child sh "$0" "$@" || code=$?
  for group in $(groups); do
    case "$before" in *"$group"*) ;; *) rmdir "$group" 2>/dev/null || true ;; esac
  done
  exit "$code"
fi

stuff=$2
root=/mnt/root
ip link set lo up 2>/dev/null || true
mount -t tmpfs tmpfs /mnt
mkdir /mnt/changes /mnt/work "$root"
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/changes,workdir=/mnt/work "$root" || { echo "no overlay file system" >&2; exit 77; }
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/stuff"
mount --bind "$stuff" "$root/stuff"

if [ "$1" = run ]; then exec chroot "$root" sh /stuff/run.sh; fi

mount -t sysfs sysfs "$root/sys"
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/unified"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
fi
chroot "$root" sh /stuff/prepare.sh
units="$root/etc/systemd/system"
printf '%s\n' '[Unit]' 'Requires=stuff.service' 'AllowIsolate=yes' >"$units/stuff.target"
printf '%s\n' '[Service]' 'Type=oneshot' 'ExecStart=/bin/sh /stuff/run.sh' 'ExecStopPost=/bin/systemctl exit --no-block --force' \
  'StandardOutput=file:/stuff/printed' 'StandardError=file:/stuff/printed' >"$units/stuff.service"
printf '%s\n' 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
container=stuff exec chroot "$root" /lib/systemd/systemd --system --unit=stuff.target --log-target=null --show-status=no
